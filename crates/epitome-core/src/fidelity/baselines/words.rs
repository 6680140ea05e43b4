//! The control: all words, no text.

use std::collections::BTreeSet;

use super::material::{Material, Output};
use crate::fidelity::context::Context;
use crate::tokens::MESSAGE_OVERHEAD;

pub(super) fn words(material: &Material<'_>) -> Context {
    let texts: Vec<String> =
        material.atoms.iter().flat_map(|atom| material.texts(atom, Output::Shown)).collect();
    // The quotation marks and brackets around a word would make it part of a text again.
    let is_sign = |letter: char| "\"'`,;()[]{}<>".contains(letter);
    let bare = |word| str::trim_matches(word, is_sign);
    let words: BTreeSet<&str> = texts.iter().flat_map(|text| text.split_whitespace()).map(bare).collect();
    let texts: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let tokens = MESSAGE_OVERHEAD + (material.count)(&texts.join("\n"));
    Context { texts, tokens }
}
