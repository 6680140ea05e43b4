//! Texts of the kinds that conversations of agents are made of, the same in every run.

/// A text of each kind, of about `size` bytes.
pub(crate) fn texts(size: usize) -> Vec<(String, String)> {
    let kinds: [(&str, Line); 4] =
        [("prose", sentence), ("code", statement), ("json", record), ("cjk", clause)];
    let fill = |(name, line): (&str, Line)| {
        let mut dice = Dice(7);
        let mut text = String::with_capacity(size + 200);
        while text.len() < size {
            text.push_str(&line(&mut dice));
        }
        (name.to_owned(), text)
    };
    kinds.into_iter().map(fill).collect()
}

/// A linear congruential generator: no dependency, and the same numbers for ever.
struct Dice(u64);

type Line = fn(&mut Dice) -> String;

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.roll(choices.len())]
    }

    fn words(&mut self, choices: &[&str], count: usize, between: &str) -> String {
        (0..count).map(|_| self.word(choices)).collect::<Vec<_>>().join(between)
    }

    /// Mostly a common word, now and then one that no vocabulary has.
    fn word(&mut self, choices: &[&str]) -> String {
        if self.roll(8) > 0 {
            return self.pick(choices).to_owned();
        }
        let syllables = 2 + self.roll(3);
        (0..syllables).map(|_| self.pick(SYLLABLES)).collect()
    }
}

const SYLLABLES: &[&str] = &[
    "ka", "tor", "vin", "ex", "plo", "mer", "qui", "sta", "dro", "len", "fy", "bra", "wox", "ni", "gul",
    "zet",
];
const WORDS: &[&str] = &[
    "the",
    "a",
    "of",
    "and",
    "to",
    "in",
    "that",
    "it's",
    "was",
    "for",
    "with",
    "we",
    "they",
    "system",
    "reason",
    "water",
    "between",
    "government",
    "because",
    "however",
    "morning",
    "question",
    "important",
    "development",
    "remember",
    "several",
    "through",
    "children",
    "although",
    "language",
    "carefully",
    "nothing",
    "experience",
    "probably",
    "different",
    "mountain",
];
const NAMES: &[&str] = &[
    "items",
    "index",
    "config",
    "self",
    "result",
    "user_id",
    "HttpClient",
    "parseInput",
    "MAX_SIZE",
    "stream",
    "tokens",
    "buffer",
    "handler",
    "response",
    "x",
    "i",
    "Option",
    "path",
    "write_all",
    "cache",
    "session",
    "total",
];
const HAN: &[&str] = &[
    "我们",
    "今天",
    "系统",
    "问题",
    "因为",
    "数据",
    "处理",
    "非常",
    "重要",
    "世界",
    "语言",
    "モデル",
    "コード",
    "を",
    "して",
    "から",
    "です",
    "한국",
    "문제",
    "합니다",
    "の",
    "が",
    "可以",
    "时间",
    "使用",
    "结果",
];

fn sentence(dice: &mut Dice) -> String {
    let count = 6 + dice.roll(16);
    let mut text = dice.words(WORDS, count, " ");
    if dice.roll(3) == 0 {
        text.push_str(&format!(", which cost {} in {}", dice.roll(9_999), 1900 + dice.roll(130)));
    }
    text.push_str(dice.pick(&[". ", ".\n", "? ", "; ", "!\n\n"]));
    text
}

fn statement(dice: &mut Dice) -> String {
    let indent = "    ".repeat(1 + dice.roll(4));
    let (name, call, other) = (dice.word(NAMES), dice.word(NAMES), dice.word(NAMES));
    match dice.roll(5) {
        0 => format!("{indent}let {name} = {call}.{other}({}, &{name})?;\n", dice.roll(500)),
        1 => format!("{indent}if {name} != {call} && !{other}.is_empty() {{\n"),
        2 => format!("{indent}}}\n\n"),
        3 => format!("{indent}// {}\n", dice.words(WORDS, 8, " ")),
        _ => format!("{indent}{name}[{}] += \"{call}/{other}.rs:{}\";\n", dice.roll(64), dice.roll(900)),
    }
}

fn record(dice: &mut Dice) -> String {
    format!(
        "{{\"{}\":{},\"{}\":\"{}\",\"id\":\"{:08x}-{:04x}\",\"{}\":[{},{}.{:02},null,true]}}\n",
        dice.word(NAMES),
        dice.roll(100_000),
        dice.word(NAMES),
        dice.words(WORDS, 4, " "),
        dice.roll(1 << 31),
        dice.roll(1 << 16),
        dice.word(NAMES),
        dice.roll(10),
        dice.roll(1000),
        dice.roll(100),
    )
}

fn clause(dice: &mut Dice) -> String {
    let count = 3 + dice.roll(9);
    let words: String = (0..count).map(|_| dice.pick(HAN)).collect();
    words + dice.pick(&["，", "。", "、", "。\n", " 2026年 "])
}
