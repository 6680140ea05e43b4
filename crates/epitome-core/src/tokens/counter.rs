//! Messages to tokens, block by block.
//!
//! Text is counted as text; everything else as providers bill it. Base64 is never counted as text,
//! wherever it stands.

use super::base64;
use super::image::{Detail, ImagePricing};
use super::pixels::PixelSize;
use super::tokenizer::Tokenizer;
use crate::message::{Block, Media, MediaSource, Message, Opaque, Thinking, ToolResult, ToolUse};
use crate::units::Tokens;

/// Tokens that frame a message: OpenAI documents three, and the role is one more.
pub const MESSAGE_OVERHEAD: Tokens = Tokens(4);

/// A page of a PDF: Anthropic names 1,500 to 3,000 tokens of text, and the page is seen as a picture too.
const PDF_PAGE: u64 = 3_000;
/// Bytes of a PDF that make a page: files of text have about 20,000, scans five times that.
const PDF_PAGE_BYTES: usize = 50_000;
/// A document of which nothing is known is taken for this many pages.
const UNKNOWN_PAGES: u64 = 4;
/// From this length on a run of base64 letters is taken for data.
const DATA_RUN: usize = 128;

/// Counts blocks and messages with one tokenizer and one way to bill pictures.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    tokenizer: &'static dyn Tokenizer,
    images: ImagePricing,
}

impl Counter {
    /// A counter on this tokenizer.
    pub fn new(tokenizer: &'static dyn Tokenizer, images: ImagePricing) -> Self {
        Self { tokenizer, images }
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &'static dyn Tokenizer {
        self.tokenizer
    }

    /// The tokens of a text.
    pub fn text(&self, text: &str) -> Tokens {
        self.tokenizer.count(text)
    }

    /// The tokens of a message: its blocks and what frames them.
    pub fn message(&self, message: &Message) -> Tokens {
        MESSAGE_OVERHEAD + message.blocks.iter().map(|block| self.block(block)).sum()
    }

    /// The tokens of a block.
    pub fn block(&self, block: &Block) -> Tokens {
        match block {
            Block::Text(text) => self.text(&text.text),
            Block::ToolUse(call) | Block::ServerToolUse(call) => self.tool_use(call),
            Block::ToolResult(result) | Block::ServerToolResult(result) => self.tool_result(result),
            Block::Image(media) => self.image(media),
            Block::Document(media) => self.document(media),
            Block::Thinking(thinking) => self.thinking(thinking),
            Block::RedactedThinking(opaque) | Block::Compaction(opaque) => self.ciphertext(opaque),
            Block::Unknown(opaque) => self.json(opaque.raw.as_str()),
        }
    }

    fn tool_use(&self, call: &ToolUse) -> Tokens {
        self.text(&call.name) + self.text(&call.input)
    }

    fn tool_result(&self, result: &ToolResult) -> Tokens {
        result.content.iter().map(|block| self.block(block)).sum()
    }

    fn image(&self, media: &Media) -> Tokens {
        let size = embedded(&media.source).and_then(|(_, data)| PixelSize::of_base64(data));
        self.images.tokens(size, Detail::of(media.detail.as_deref()))
    }

    fn document(&self, media: &Media) -> Tokens {
        match embedded(&media.source) {
            Some((kind, _)) if kind.starts_with("image/") => self.image(media),
            Some((kind, data)) if kind.starts_with("text/") => hidden_text(data),
            Some((_, data)) => {
                Tokens(PDF_PAGE * base64::decoded_len(data).div_ceil(PDF_PAGE_BYTES).max(1) as u64)
            }
            None => match &media.source {
                MediaSource::Other(raw) => self.json(raw.as_str()),
                _ => Tokens(PDF_PAGE * UNKNOWN_PAGES),
            },
        }
    }

    /// Reasoning is billed by its length. Where the provider shows no text, the encrypted form tells it.
    fn thinking(&self, thinking: &Thinking) -> Tokens {
        match &thinking.signature {
            Some(signature) if thinking.text.is_empty() => hidden_text(signature),
            _ => self.text(&thinking.text),
        }
    }

    fn ciphertext(&self, opaque: &Opaque) -> Tokens {
        self.prose_and_data(opaque.raw.as_str(), hidden_text)
    }

    /// JSON that nobody here understands: long runs of base64 in it are a picture, or cost at most as much.
    fn json(&self, raw: &str) -> Tokens {
        self.prose_and_data(raw, |data| {
            let unknown = self.images.tokens(None, Detail::Full);
            match PixelSize::of_base64(data) {
                Some(size) => self.images.tokens(Some(size), Detail::Full),
                None => hidden_text(data).min(unknown),
            }
        })
    }

    fn prose_and_data(&self, raw: &str, data_tokens: impl Fn(&str) -> Tokens) -> Tokens {
        let mut prose = String::new();
        let mut total = Tokens::ZERO;
        let mut rest = raw;
        while let Some((before, data, after)) = next_data(rest) {
            prose.push_str(before);
            total += data_tokens(data);
            rest = after;
        }
        if prose.is_empty() {
            return total + self.text(rest);
        }
        prose.push_str(rest);
        total + self.text(&prose)
    }
}

/// The MIME type and the base64 of content that stands in the message itself.
fn embedded(source: &MediaSource) -> Option<(&str, &str)> {
    match source {
        MediaSource::Base64 { media_type, data } => Some((media_type, data)),
        MediaSource::Url(url) => {
            let (kind, data) = url.strip_prefix("data:")?.split_once(',')?;
            Some((kind.strip_suffix(";base64")?, data))
        }
        MediaSource::File(_) | MediaSource::Other(_) => None,
    }
}

/// An estimate for text that only its bytes are known of: four a token.
fn hidden_text(data: &str) -> Tokens {
    Tokens(base64::decoded_len(data) as u64 / 4)
}

/// The first long run of base64 letters, with what stands before and after it.
fn next_data(text: &str) -> Option<(&str, &str, &str)> {
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        let length = bytes[start..].iter().take_while(|byte| base64::is_letter(**byte)).count();
        if length >= DATA_RUN {
            let (before, data) = text.split_at(start);
            let (data, after) = data.split_at(length);
            return Some((before, data, after));
        }
        start += length + 1;
    }
    None
}
