//! Quotations that nothing inside them can end.
//!
//! Text that is summarised comes from files, web pages and tools, and whoever wrote it may have written for the summariser.
//! Every border in a prompt carries a mark that stands in none of the quoted texts, so that no text can close its own
//! quotation or pass for a message of somebody else's.

use epitome_core::ContentHash;

/// A mark that stands in none of the texts it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    tag: String,
}

/// So many hex digits make a mark.
const DIGITS: usize = 16;

impl Fence {
    /// A fence for these texts. The same texts have the same one, so that a prompt can be told again by its letters.
    pub fn around<'t>(texts: impl IntoIterator<Item = &'t str> + Clone) -> Self {
        let mut seed: Vec<u8> = Vec::new();
        for text in texts.clone() {
            seed.extend_from_slice(ContentHash::of(text.as_bytes()).as_bytes());
        }
        loop {
            let hash = ContentHash::of(&seed);
            let tag: String = hash.to_string().chars().take(DIGITS).collect();
            // Nobody can write a text that holds its own hash; should it happen, another mark is taken.
            let stands = |text: &str| text.to_ascii_lowercase().contains(&tag);
            if !texts.clone().into_iter().any(stands) {
                return Self { tag };
            }
            seed = hash.as_bytes().to_vec();
        }
    }

    /// The mark.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// A text as a quotation of this name.
    pub fn quote(&self, name: &str, text: &str) -> String {
        let tag = &self.tag;
        format!("<<<{name} {tag}\n{text}\n{name} {tag}>>>")
    }

    /// Several texts, each behind a line with the mark.
    pub fn row<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> String {
        let marked = |text: &str| format!("=== {} ===\n{text}", self.tag);
        texts.into_iter().map(marked).collect::<Vec<_>>().join("\n")
    }
}
