//! Texts that say the same, however they are cut into blocks.
//!
//! Blanks count inside a block. Where a block begins or ends, on either side, there may be some or none: clients trim, and join
//! with or without a line break.

/// What became of some words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// They go on as they should.
    Same,
    /// All was said, and there are more.
    More,
    /// They are other words.
    Other,
}

/// A place in a list of texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) text: usize,
    /// Bytes of that text, its trimmed form, that were heard.
    byte: usize,
}

impl Place {
    /// Hears `words`, and tells which texts they touch.
    pub(super) fn hear(
        &mut self,
        texts: &[(usize, String)],
        words: &str,
        mut touch: impl FnMut(usize),
    ) -> Fit {
        let mut words = words.trim();
        while !words.is_empty() {
            let Some((message, text)) = texts.get(self.text) else { return Fit::More };
            // A block of the client's begins here, so blanks do not count.
            let text = text.trim();
            let left = text.get(self.byte..).unwrap_or_default();
            let rest = left.trim_start();
            let common = words.len().min(rest.len());
            if words.as_bytes().get(..common) != rest.as_bytes().get(..common) {
                return Fit::Other;
            }
            touch(*message);
            self.byte += left.len() - rest.len() + common;
            words = words.get(common..).unwrap_or_default();
            if self.byte >= text.len() {
                *self = Self { text: self.text + 1, byte: 0 };
                words = words.trim_start();
            }
        }
        Fit::Same
    }

    pub(super) fn is_at_start_of(&self, text: usize) -> bool {
        *self == Self { text, byte: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(texts: &[&str], blocks: &[&str]) -> (Fit, bool) {
        let texts: Vec<_> = texts.iter().map(|text| (0, (*text).to_owned())).collect();
        let mut place = Place::default();
        for block in blocks {
            match place.hear(&texts, block, |_| {}) {
                Fit::Same => {}
                other => return (other, false),
            }
        }
        (Fit::Same, place.is_at_start_of(texts.len()))
    }

    #[test]
    fn blocks_may_be_joined_split_and_trimmed() {
        let whole = (Fit::Same, true);
        assert_eq!(fit(&["one two"], &["one two"]), whole);
        assert_eq!(fit(&[" one two\n"], &["one two"]), whole);
        assert_eq!(fit(&["one", "two"], &["onetwo"]), whole);
        assert_eq!(fit(&["one ", "two"], &["one\n\ntwo"]), whole);
        assert_eq!(fit(&["one two"], &["one ", "two "]), whole);
        assert_eq!(fit(&["one two", "three"], &["one", "two three"]), whole);
        assert_eq!(fit(&["é…"], &["é", "…"]), whole);
        assert_eq!(fit(&["one two"], &["one"]), (Fit::Same, false));
        assert_eq!(fit(&["one"], &["one two"]).0, Fit::More);
        assert_eq!(fit(&["one two"], &["one  two"]).0, Fit::Other);
        assert_eq!(fit(&["one two"], &["One two"]).0, Fit::Other);
        assert_eq!(fit(&["é"], &["è"]).0, Fit::Other);
    }
}
