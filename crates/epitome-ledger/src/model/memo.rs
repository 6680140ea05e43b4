//! Memos: small values that a program keeps beside conversations. The last one written is the one that counts.

use epitome_core::Time;

/// A memo as it was written last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memo {
    /// What sort of memo it is, such as `calibration`.
    pub scope: String,
    /// Of what, such as a model. Memos that have the name of a session go with it.
    pub name: String,
    /// What it says.
    pub value: String,
    /// When it was written.
    pub time: Time,
}
