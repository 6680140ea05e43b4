//! Counting: equal to the reference, whatever the text and however it arrives; media by what they are.

use std::sync::LazyLock;

use epitome_core::tokens::{Bpe, Counter, ImagePricing, Running, Tokenizer};
use epitome_core::{
    Block, BlockKind, Chars, Fields, Media, MediaSource, Message, Opaque, Outline, RawJson, RecallId, Role,
    Thinking, Tokens, ToolRef,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tiktoken_rs::CoreBPE;

use crate::support::{call_block, cases, counter, image, result_of};

static O200K: LazyLock<CoreBPE> = LazyLock::new(|| tiktoken_rs::o200k_base().unwrap());
static CL100K: LazyLock<CoreBPE> = LazyLock::new(|| tiktoken_rs::cl100k_base().unwrap());

pub(crate) fn tokenizers() -> [(&'static Bpe, &'static CoreBPE); 2] {
    [(Bpe::o200k(), &O200K), (Bpe::cl100k(), &CL100K)]
}

fn reference(bpe: &CoreBPE, text: &str) -> Tokens {
    Tokens(bpe.encode_ordinary(text).len() as u64)
}

/// Pieces at whose seams tokenizers err.
const FRAGMENTS: &[&str] = &[
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    " \n ",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    "'",
    "'s",
    "'LL",
    "'re",
    "’s",
    "it's",
    "I'",
    "don't",
    "a",
    "B",
    "Abc",
    "ABC",
    "camelCase",
    "HTTPServer",
    "word",
    " word",
    "0",
    "12",
    "345",
    "6789",
    "½",
    "Ⅷ",
    "٣",
    "²",
    ".",
    ",",
    "/",
    "//",
    "\n/",
    ".\n",
    "--",
    "=====",
    "…",
    "—",
    "_",
    "\0",
    "\u{7f}",
    "漢",
    "漢字",
    "かな",
    "カタカナ",
    "。",
    "、",
    "「",
    "한국어",
    "한",
    "中A",
    "A中",
    "ＡＢ",
    "ａ",
    "１",
    "e\u{301}",
    "\u{301}",
    "ß",
    "Ω",
    "я",
    "Привет",
    "ǅ",
    "ʰ",
    "नमस्ते",
    "ไทย",
    "עברית",
    "🙂",
    "👩\u{200d}👩\u{200d}👧",
    "🇩🇪",
    "❤\u{fe0f}",
    "\u{200b}",
    "\u{feff}",
    "\u{10ffff}",
    "{\"key\": ",
    "[1, 2]",
    "fn main() {\n    ",
    "<|endoftext|>",
    "<|im_start|>",
    "https://example.org/a/b?c=1",
    "\\n",
    "\u{85}",
];

fn chunk() -> impl Strategy<Value = String> {
    prop_oneof![6 => select(FRAGMENTS).prop_map(str::to_owned), 1 => "\\PC{0,4}", 1 => ".{0,3}"]
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn equals_the_reference(chunks in vec(chunk(), 0..24)) {
        let text = chunks.concat();
        for (bpe, core) in tokenizers() {
            prop_assert_eq!(bpe.count(&text), reference(core, &text), "{:?} {:?}", bpe, text);
        }
    }

    #[test]
    fn growing_text_is_exact_at_every_moment(chunks in vec(chunk(), 0..24)) {
        for (bpe, _) in tokenizers() {
            let mut running = Running::new(bpe);
            let mut text = String::new();
            for chunk in &chunks {
                running.push(chunk);
                text.push_str(chunk);
                prop_assert_eq!(running.total(), bpe.count(&text), "{:?} {:?}", bpe, text);
            }
        }
    }
}

/// Both neighbours of every seam, in every surrounding that matters.
#[test]
fn every_pair_of_fragments_grows_exactly() {
    for (bpe, _) in tokenizers() {
        for first in FRAGMENTS {
            for second in FRAGMENTS {
                let mut running = Running::new(bpe);
                for chunk in ["x", first, second, "y"] {
                    running.push(chunk);
                }
                assert_eq!(running.total(), bpe.count(&format!("x{first}{second}y")), "{first:?} {second:?}");
            }
        }
    }
}

#[test]
fn a_long_reply_stays_cheap_to_extend() {
    let mut running = Running::new(Bpe::o200k());
    let line = "fn sum(numbers: &[u64]) -> u64 { numbers.iter().sum() } // 合計、1234567 回。\n";
    for _ in 0..200 {
        running.push(line);
        assert!(running.open_bytes() < 64);
    }
    assert_eq!(running.total(), Bpe::o200k().count(&line.repeat(200)));
}

/// A run that offers no boundary is counted part by part, and as exactly.
#[test]
fn megabytes_without_a_boundary() {
    for (unit, around) in [("a", ""), (" ", "x"), ("=", "\n"), ("漢字", "。"), ("\n", "")] {
        let text = format!("{around}{}{around}", unit.repeat((1 << 20) / unit.len() + 99));
        let whole: u64 = reference_by_size(unit, around, &text);
        assert_eq!(Bpe::o200k().count(&text), Tokens(whole), "{unit:?}");
    }
}

/// The reference takes minutes for a megabyte in one piece, so it counts a shorter one and extrapolates: such runs
/// cost the same for every further period of 128 units.
fn reference_by_size(unit: &str, around: &str, text: &str) -> u64 {
    const PERIOD: usize = 128;
    let units = (text.len() - 2 * around.len()) / unit.len();
    let short = |units: usize| reference(&O200K, &format!("{around}{}{around}", unit.repeat(units))).0;
    let rest = units % PERIOD + 8 * PERIOD;
    let step = short(rest + PERIOD) - short(rest);
    short(rest) + step * ((units - rest) / PERIOD) as u64
}

fn media(media_type: &str, data: String) -> Media {
    let media_type = media_type.to_owned();
    Media { source: MediaSource::Base64 { media_type, data }, detail: None, extra: Fields::new() }
}

/// A PNG of this size, as base64: a real head, then as much noise as a file has.
fn png(width: u32, height: u32, bytes: usize) -> String {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    file.extend(width.to_be_bytes());
    file.extend(height.to_be_bytes());
    file.extend([8, 6, 0, 0, 0]);
    file.extend((0..bytes).map(|n| (n * 7919 % 251) as u8));
    base64(&file)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = |group: &[u8]| {
        let bits =
            group.iter().enumerate().fold(0_u32, |bits, (at, byte)| bits | u32::from(*byte) << (16 - 8 * at));
        (0..=group.len())
            .map(move |at| char::from(LETTERS[(bits >> (18 - 6 * at) & 63) as usize]))
            .collect::<String>()
    };
    let mut text: String = bytes.chunks(3).map(letters).collect();
    text.extend(std::iter::repeat_n('=', text.len().wrapping_neg() % 4));
    text
}

#[test]
fn base64_is_never_counted_as_text() {
    let data = png(1000, 1000, 300_000);
    let as_text = counter().text(&data);
    let opaque = |raw: String| Opaque { kind: "novel".to_owned(), raw: RawJson::new(raw) };
    let url = Media {
        source: MediaSource::Url(format!("data:image/png;base64,{data}")),
        ..media("", String::new())
    };
    let thought = Thinking { text: "Hm.".to_owned(), signature: Some(data.clone()), extra: Fields::new() };
    let blocks = [
        (Block::Image(media("image/png", data.clone())), 1334..=1334),
        (Block::Image(url), 1334..=1334),
        (
            result_of("1", vec![Block::text("see"), Block::Image(media("image/png", data.clone()))]),
            1335..=1335,
        ),
        (Block::Document(media("application/pdf", data.clone())), 3_000..=30_000),
        (Block::Unknown(opaque(format!("{{\"type\":\"novel\",\"blob\":\"{data}\"}}"))), 1334..=1350),
        (Block::Thinking(thought), 1..=4),
    ];
    for (block, range) in blocks {
        let tokens = counter().block(&block);
        assert!(range.contains(&tokens.0), "{:?}: {tokens}", block.kind());
        assert!(tokens.0 * 5 < as_text.0);
    }
}

#[test]
fn images_by_family_and_detail() {
    let mut picture = media("image/png", png(1024, 1024, 0));
    let openai = Counter::new(Bpe::o200k(), ImagePricing::GPT_4O);
    assert_eq!(openai.block(&Block::Image(picture.clone())), Tokens(765));
    picture.detail = Some("low".to_owned());
    assert_eq!(openai.block(&Block::Image(picture)), Tokens(85));
    let link = Media {
        source: MediaSource::Url("https://example.org/cat.png".to_owned()),
        ..media("", String::new())
    };
    let unknown = counter().block(&Block::Image(link));
    assert!(
        (1_000..2_000).contains(&unknown.0),
        "a picture of unknown size is taken for a usual one: {unknown}"
    );
}

#[test]
fn a_message_is_its_blocks_and_a_frame() {
    let blocks = vec![Block::text("hello world"), call_block("bash", "1"), image()];
    let parts: Tokens = blocks.iter().map(|block| counter().block(block)).sum();
    assert_eq!(counter().message(&Message::new(Role::Assistant, blocks)), parts + Tokens(4));
    assert_eq!(
        counter().block(&call_block("bash", "1")),
        counter().text("bash") + counter().text("{\"command\":\"ls\"}")
    );
}

#[test]
fn outlines_tell_what_decisions_need() {
    let message = Message::new(
        Role::User,
        vec![result_of("7", vec![Block::text("one"), image(), Block::text("zwei ß")]), Block::text("漢字")],
    );
    let outline = Outline::of(&message, &counter(), 123);
    assert_eq!((outline.role, outline.bytes), (Role::User, 123));
    assert_eq!(outline.tokens, counter().message(&message));
    let [result, text] = &outline.blocks[..] else { panic!("two blocks") };
    assert_eq!((result.kind, result.chars, result.has_media), (BlockKind::ToolResult, Chars(10), true));
    assert_eq!(result.tool, Some(ToolRef { id: "7".to_owned(), name: None }));
    assert_eq!(result.recall, Some(RecallId::of("one\nzwei ß")));
    assert_eq!((text.chars, text.recall, text.has_media), (Chars(2), Some(RecallId::of("漢字")), false));

    let call = Outline::of(&Message::new(Role::Assistant, vec![call_block("bash", "7")]), &counter(), 0);
    assert_eq!(call.blocks[0].chars, Chars("bash{\"command\":\"ls\"}".len()));
    assert_eq!(call.blocks[0].tool, Some(ToolRef { id: "7".to_owned(), name: Some("bash".to_owned()) }));
}
