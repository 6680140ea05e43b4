//! Words as numbers: what two forms of a word share, and which words say nothing.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::sync::LazyLock;

use crate::items::{Found, Kind};

/// How much of a word counts: "configure" and "configuration" are about the same.
const STEM: usize = 6;
/// The same, in bytes, for words that begin with a letter of several bytes.
const FOREIGN_STEM: usize = 8;
/// The bit in which small letters differ from capitals, in every byte.
const SMALL: u64 = 0x2020_2020_2020_2020;
/// Codes of items have this bit, those of words have not.
const ITEM: u64 = 1 << 63;

/// All negations are one word.
pub(super) const NEGATION: u64 = 1;

/// The code of the word at a place.
#[inline]
pub(super) fn code(text: &str, word: Range<usize>) -> u64 {
    let bytes = text.as_bytes();
    let loaded = match bytes.get(word.start..word.start + 8).and_then(|eight| eight.first_chunk::<8>()) {
        Some(eight) => u64::from_be_bytes(*eight),
        None => last(bytes.get(word.start..).unwrap_or_default()),
    };
    let foreign = loaded >> 63 == 1;
    let length = if foreign { word.len().min(FOREIGN_STEM) } else { stem(bytes, word).min(STEM) };
    let unused = 64 - 8 * length as u32;
    // Small letters are capitals with one more bit, which digits have as well.
    let code = (loaded | SMALL).checked_shr(unused).unwrap_or(0);
    code & !ITEM
}

// How long a word is without its ending.
#[inline]
fn stem(bytes: &[u8], Range { start, end }: Range<usize>) -> usize {
    const SHORTEST: usize = 4;
    let length = end - start;
    // The stem of a longer word is not touched by its ending.
    if length <= SHORTEST || length > STEM + 3 {
        return length;
    }
    let ending = match bytes.get(end - 3..end) {
        Some([_, b's', b's']) => 0,
        Some([_, _, b's']) => 1,
        Some([_, b'e', b'd']) => 2,
        Some(b"ing") => 3,
        _ => 0,
    };
    if length - ending >= SHORTEST { length - ending } else { length }
}

// The last bytes of a text, filled up.
fn last(bytes: &[u8]) -> u64 {
    let mut filled = [0; 8];
    for (to, from) in filled.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_be_bytes(filled)
}

/// The code of a word by itself.
fn code_of(word: &str) -> u64 {
    code(word, 0..word.len())
}

/// The code of a text that is, or could be, the key of an item.
pub(super) fn hash(key: &str) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(FACTOR);
        mixed ^ mixed >> 32
    };
    let (chunks, rest) = key.as_bytes().as_chunks::<8>();
    let hash = chunks.iter().fold(FACTOR, |hash, chunk| mix(hash, u64::from_le_bytes(*chunk)));
    let rest = rest.iter().fold(key.len() as u64, |word, byte| word << 8 | u64::from(*byte));
    mix(mix(hash, rest), key.len() as u64) | ITEM
}

/// Whether an item is only a word in backticks, which others write without them.
pub(super) fn is_word(item: &Found<'_>) -> bool {
    item.kind == Kind::Identifier
        && item.text.bytes().all(|byte| byte.is_ascii_lowercase() || byte >= 0x80 || byte == b'-')
}

/// Whether a word carries no meaning of its own.
pub(super) fn says_nothing(code: u64) -> bool {
    SILENT.contains(&code)
}

/// Whether a word stands in orders and decisions of all kinds.
pub(super) fn is_common(code: u64) -> bool {
    COMMON.contains(&code)
}

/// The codes of the words that negate.
pub(super) fn negations() -> impl Iterator<Item = u64> {
    NEGATIONS.split_whitespace().map(code_of)
}

/// Whether a word negates.
pub(super) fn negates(code: u64) -> bool {
    NEGATING.contains(&code)
}

// The "t" is what the walk leaves of "don't" and its like.
const NEGATIONS: &str = "not never no t dont cannot cant without neither nor none avoid nicht nie niemals kein keine keinen \
    ohne ne pas jamais sans nunca jamás sin 不 勿 没 無 禁 ない";

/// Words that stand in any sentence, whatever it is about.
const STOP_WORDS: &str = "a an the and or but if then than that this these those it its is are was were be been being am to of \
    in on at by for from with as into onto over under about i you he she we they me him her us them my your his our their \
    so do does did done have has had having will would can could may might just also there here what which who whom whose \
    when where why how all any some each other more most such own same too very s d ll re ve m don doesn didn isn aren wasn weren hasn haven won couldn wouldn mustn please let lets get got \
    der die das den dem des ein eine einen einem einer und oder aber wenn dann als ist sind war waren sein zu von im in am \
    an auf für mit aus bei nach über unter ich du er sie es wir ihr mich dich uns mein dein hat haben wird werden kann \
    bitte auch noch nur dass le la les un une des du de et ou mais si alors est sont était être à au aux en dans sur par \
    pour avec je tu il elle nous vous ils elles mon ton son que qui ce cette ces el los las una unos unas y o pero es son \
    fue ser al con por para yo tú él ella nosotros mi su 的 了 是 在 我 你 他 们 這 这 那 就 も の に は を が と で て し た";

const COMMON_WORDS: &str = "use uses using used decide decided decision instead must should shall always only make sure need \
    needs want wants wanted ask asked asks require requires required user users assistant agent going plan go muss soll \
    immer verwenden statt doit toujours debe siempre usar";

static COMMON: LazyLock<HashSet<u64>> =
    LazyLock::new(|| COMMON_WORDS.split_whitespace().map(code_of).collect());
static SILENT: LazyLock<HashSet<u64>> =
    LazyLock::new(|| STOP_WORDS.split_whitespace().map(code_of).collect());
static NEGATING: LazyLock<HashSet<u64>> = LazyLock::new(|| negations().collect());

/// Codes are hashes already.
#[derive(Default)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        // Codes of short words differ in their low bits only, the table looks at the high ones, too.
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash << 8 ^ u64::from(*byte));
    }

    fn write_u64(&mut self, code: u64) {
        self.0 = code;
    }
}

/// Builds [`AsIs`].
pub(super) type Codes = BuildHasherDefault<AsIs>;
