//! Exact byte-pair encoding with OpenAI's two current vocabularies.
//!
//! The merging itself is the `tiktoken` crate's. This file adds what a program that counts other
//! people's data needs: a bounded cost for text that never ends a word.

use std::fmt;
use std::sync::LazyLock;

use tiktoken::CoreBpe;

use super::boundary;
use super::long_run;
use super::tokenizer::Tokenizer;
use crate::units::Tokens;

/// From this length on a text is counted in parts, so that memory does not grow with it.
const WHOLE: usize = 64 << 10;

/// An exact tokenizer.
pub struct Bpe {
    name: &'static str,
    pub(super) core: &'static CoreBpe,
}

static O200K: LazyLock<Bpe> = LazyLock::new(|| Bpe::load("o200k", "o200k_base"));
static CL100K: LazyLock<Bpe> = LazyLock::new(|| Bpe::load("cl100k", "cl100k_base"));

impl Bpe {
    /// `o200k_base`: GPT-4o and later, and the unit of every budget.
    pub fn o200k() -> &'static Bpe {
        &O200K
    }

    /// `cl100k_base`: GPT-4 and GPT-3.5.
    pub fn cl100k() -> &'static Bpe {
        &CL100K
    }

    fn load(name: &'static str, vocabulary: &str) -> Self {
        match tiktoken::get_encoding(vocabulary) {
            Some(core) => Self { name, core },
            None => unreachable!("the vocabulary {vocabulary} is compiled in"),
        }
    }
}

impl fmt::Debug for Bpe {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Bpe({})", self.name)
    }
}

impl Tokenizer for Bpe {
    fn name(&self) -> &'static str {
        self.name
    }

    fn count(&self, text: &str) -> Tokens {
        let mut total = 0;
        let mut rest = text;
        while rest.len() > WHOLE {
            let cut = boundary::last(rest, 0..=WHOLE)
                .or_else(|| boundary::first(rest, WHOLE))
                .unwrap_or(rest.len());
            let (part, tail) = rest.split_at(cut);
            total +=
                if part.len() > WHOLE { long_run::count(self.core, part) } else { self.core.count(part) };
            rest = tail;
        }
        Tokens((total + self.core.count(rest)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_are_plain_text() {
        for bpe in [Bpe::o200k(), Bpe::cl100k()] {
            assert!(bpe.count("<|endoftext|>") > Tokens(1), "{bpe:?}");
        }
    }

    #[test]
    fn counting_in_parts_equals_counting_the_whole() {
        let line = "let total = items.iter().map(|item| item.price * 3).sum::<u64>(); // 合計を計算する。\n";
        let text = line.repeat(2 * WHOLE / line.len() + 7);
        assert_eq!(Bpe::o200k().count(&text), Tokens(Bpe::o200k().core.count(&text) as u64));
    }
}
