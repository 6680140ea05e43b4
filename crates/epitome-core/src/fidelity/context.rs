//! A context: all that a model would read in place of the part before a cut.

use super::texts::texts;
use crate::message::Message;
use crate::units::Tokens;

/// The texts that stand for the part before a cut, and what they cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The texts, in order.
    pub texts: Vec<String>,
    /// Its tokens, leading system messages not counted.
    pub tokens: Tokens,
}

impl Context {
    /// The context that these messages make, with these words among the operator's.
    pub fn of(system: Option<&str>, messages: &[Message], tokens: Tokens) -> Self {
        let said = messages.iter().flat_map(texts).map(|said| said.text.into_owned());
        Self { texts: system.map(str::to_owned).into_iter().chain(said).collect(), tokens }
    }
}
