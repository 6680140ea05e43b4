//! Blocks from one dialect to another, one by one.

use std::collections::HashSet;

use epitome_core::{Block, Fields, Media, MediaSource, Message, Opaque, RawJson, Text, ToolResult, ToolUse};

use super::loss::{Loss, Lost};
use crate::dialect::Dialect;
use crate::draft::Draft;
use crate::json::{Kind, Span, quote, string};
use crate::node::field_string;

/// Translates blocks and keeps account of what is lost.
pub(super) struct Translator {
    from: Dialect,
    to: Dialect,
    /// The number of the message at hand.
    pub(super) at: usize,
    pub(super) losses: Vec<Loss>,
    legacy_calls: usize,
    custom_calls: HashSet<String>,
}

impl Translator {
    pub(super) fn new(from: Dialect, to: Dialect) -> Self {
        Self { from, to, at: 0, losses: Vec::new(), legacy_calls: 0, custom_calls: HashSet::new() }
    }

    /// The blocks of a message that the target can express.
    pub(super) fn blocks(&mut self, message: &Message) -> Vec<Block> {
        self.lose_fields(&message.extra, |key| key == "type");
        message.blocks.iter().filter_map(|block| self.block(block)).collect()
    }

    fn lose(&mut self, what: Lost) {
        self.losses.push(Loss { message: self.at, what });
    }

    fn lose_fields(&mut self, fields: &Fields, known: impl Fn(&str) -> bool) {
        for (key, raw) in fields {
            // A field that says nothing is no loss.
            if !known(key) && !matches!(raw.as_str(), "null" | "[]" | "{}") {
                self.lose(Lost::Field(key.clone()));
            }
        }
    }

    fn drop(&mut self, what: Lost) -> Option<Block> {
        self.lose(what);
        None
    }

    fn block(&mut self, block: &Block) -> Option<Block> {
        match block {
            Block::Text(text) => self.text(text),
            Block::ToolUse(call) => Some(Block::ToolUse(self.call(call))),
            Block::ToolResult(result) => Some(Block::ToolResult(self.result(result))),
            Block::Image(image) => self.image(image).map(Block::Image),
            Block::Document(document) => self.document(document).map(Block::Document),
            Block::Thinking(_) | Block::RedactedThinking(_) => self.drop(Lost::Thinking),
            Block::ServerToolUse(_) | Block::ServerToolResult(_) => self.drop(Lost::ServerTool),
            Block::Unknown(opaque) => self.unknown(opaque),
            Block::Compaction(opaque) => self.drop(Lost::Block(opaque.kind.clone())),
            other => self.drop(Lost::Block(format!("{:?}", other.kind()))),
        }
    }

    // Empty text says nothing, and Anthropic refuses it.
    fn text(&mut self, text: &Text) -> Option<Block> {
        self.lose_fields(&text.extra, |key| key == "type");
        (!text.text.is_empty()).then(|| Block::text(&text.text))
    }

    fn call(&mut self, call: &ToolUse) -> ToolUse {
        let kind = field_string(&call.extra, "type");
        let custom = match self.to {
            Dialect::Chat => "custom",
            _ => "custom_tool_call",
        };
        let is_custom = matches!(kind.as_deref(), Some("custom" | "custom_tool_call"));
        let extra = if is_custom && self.to != Dialect::Anthropic {
            vec![("type".to_owned(), RawJson::new(quote(custom)))]
        } else {
            Fields::new()
        };
        self.lose_fields(&call.extra, |key| key == "type" && (kind.is_none() || !extra.is_empty()));
        let id = if call.id.is_empty() {
            self.legacy_calls += 1;
            self.legacy_id()
        } else {
            call.id.clone()
        };
        if is_custom {
            self.custom_calls.insert(id.clone());
        }
        // No arguments and space around them mean the same in every dialect; Anthropic's cannot say them.
        let input = match (self.to, call.input.trim()) {
            (Dialect::Anthropic, "") => "{}",
            (Dialect::Anthropic, trimmed) => trimmed,
            _ => &call.input,
        };
        ToolUse { id, name: call.name.clone(), input: input.to_owned(), extra }
    }

    // A legacy function call has no id: its result is the next function message.
    fn legacy_id(&self) -> String {
        format!("call_{}", self.legacy_calls)
    }

    fn result(&mut self, result: &ToolResult) -> ToolResult {
        let kind = field_string(&result.extra, "type");
        let custom = kind.as_deref() == Some("custom_tool_call_output");
        self.lose_fields(&result.extra, |key| key == "type" && custom);
        if result.name.is_some() && !result.call_id.is_empty() {
            self.lose(Lost::Field("name".to_owned()));
        }
        if result.is_error {
            self.lose(Lost::ErrorFlag);
        }
        let call_id = if result.call_id.is_empty() { self.legacy_id() } else { result.call_id.clone() };
        let content = result.content.iter().filter_map(|block| match block {
            // A result must not lose what the model is to read of it.
            Block::Unknown(opaque) => {
                self.lose(Lost::Block(opaque.kind.clone()));
                Some(Block::text(opaque.raw.as_str()))
            }
            other => self.block(other),
        });
        let content = content.collect();
        // Responses tells results of custom tools from those of functions; Chat Completions does not.
        let mut extra = Fields::new();
        if self.to == Dialect::Responses && self.custom_calls.contains(&call_id) {
            extra.push(("type".to_owned(), RawJson::new(quote("custom_tool_call_output"))));
        }
        ToolResult { call_id, name: None, content, is_error: false, extra }
    }

    fn image(&mut self, image: &Media) -> Option<Media> {
        self.lose_fields(&image.extra, |key| key == "type");
        let nameless = matches!(image.source, MediaSource::File(_)) && self.to == Dialect::Chat;
        self.media(image, nameless, Fields::new())
    }

    // What Anthropic calls a document's title, OpenAI calls its file name.
    fn document(&mut self, document: &Media) -> Option<Media> {
        let name_in = |dialect| if dialect == Dialect::Anthropic { "title" } else { "filename" };
        let (old, new) = (name_in(self.from), name_in(self.to));
        self.lose_fields(&document.extra, |key| key == old);
        let name = document.extra.iter().find(|(key, _)| key == old);
        let extra = name.map(|(_, raw)| (new.to_owned(), raw.clone())).into_iter().collect();
        let nameless = matches!(document.source, MediaSource::Url(_)) && self.to == Dialect::Chat;
        self.media(document, nameless, extra)
    }

    fn media(&mut self, media: &Media, nameless: bool, extra: Fields) -> Option<Media> {
        if nameless || matches!(media.source, MediaSource::Other(_)) {
            self.lose(Lost::Media);
            return None;
        }
        let detail = media.detail.clone().filter(|_| self.to != Dialect::Anthropic);
        if detail != media.detail {
            self.lose(Lost::Field("detail".to_owned()));
        }
        Some(Media { source: media.source.clone(), detail, extra })
    }

    fn unknown(&mut self, opaque: &Opaque) -> Option<Block> {
        match (opaque.kind.as_str(), self.to) {
            ("refusal", Dialect::Anthropic) => {
                self.lose(Lost::Block(opaque.kind.clone()));
                refusal(opaque).map(Block::text)
            }
            ("refusal", _) => {
                let words = refusal(opaque)?;
                let raw = match self.to {
                    Dialect::Chat => quote(&words),
                    _ => Draft::new().string("type", "refusal").string("refusal", &words).end(),
                };
                Some(Block::Unknown(Opaque { kind: opaque.kind.clone(), raw: RawJson::new(raw) }))
            }
            // Both of OpenAI's dialects spell sound alike.
            ("input_audio", Dialect::Chat | Dialect::Responses) => Some(Block::Unknown(opaque.clone())),
            _ => self.drop(Lost::Block(opaque.kind.clone())),
        }
    }
}

// The words of a refusal: a bare string beside the content, or a part of it.
fn refusal(opaque: &Opaque) -> Option<String> {
    let raw = opaque.raw.as_str();
    if Kind::of(raw) == Some(Kind::String) {
        return string(raw, Span { start: 0, end: raw.len() }).ok().map(|words| words.into_owned());
    }
    let fields: serde_json::Map<_, _> = serde_json::from_str(raw).ok()?;
    fields.get("refusal")?.as_str().map(str::to_owned)
}
