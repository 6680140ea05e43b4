//! Text that is distributed as language is: a few words everywhere, many words hardly anywhere.

use epitome_core::{Role, Tokens};
use epitome_ledger::model::{NewMessage, NewReply, NewTurn};

pub(crate) struct Words(pub(crate) u64);

impl Words {
    pub(crate) fn random(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A word of rank 1 to 60,000, the n-th about 1/n as often as the first.
    fn word(&mut self) -> String {
        let share = (self.random() >> 11) as f64 / (1u64 << 53) as f64;
        word(60_000f64.powf(share) as u64)
    }

    pub(crate) fn text(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word()).collect();
        words.join(" ")
    }

    pub(crate) fn message(&mut self, role: Role, words: usize) -> NewMessage {
        let body = format!(r#"{{"role":"{role}","content":"{}"}}"#, self.text(words));
        NewMessage::new(role, body).with_tokens(Tokens(words as u64))
    }

    pub(crate) fn turn(&mut self, words: usize) -> NewTurn {
        let reply = NewReply { messages: vec![self.message(Role::Assistant, words)], ..NewReply::default() };
        NewTurn { reply: Some(reply), ..NewTurn::of(vec![self.message(Role::User, words)]) }
    }
}

/// The word of a rank: short ones are common.
pub(crate) fn word(rank: u64) -> String {
    let syllables = ["ka", "lo", "mi", "ne", "ru", "ta", "so", "vi", "ze", "pa", "do", "fi"];
    let mut word = String::new();
    let mut rest = rank + 11;
    while rest > 0 {
        word.push_str(syllables[(rest % 12) as usize]);
        rest /= 12;
    }
    word
}
