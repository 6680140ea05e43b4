//! Words: how texts become terms that can be searched for, alike on both databases.

mod fold;
mod query;
mod reading;
mod terms;
mod text;

pub(crate) use fold::folded;
pub(crate) use query::{Query, Term};
pub(crate) use reading::Reading;
pub(crate) use terms::terms;
pub(crate) use text::text_of;
