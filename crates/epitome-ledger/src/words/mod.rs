//! Words: how texts become terms that can be searched for, alike on both databases.

mod fold;
mod terms;
mod text;

pub(crate) use fold::{fold, folded, is_dense, is_word};
pub(crate) use terms::{Run, pairs, runs, terms, whole};
pub(crate) use text::text_of;
