//! OpenAI Chat Completions: content beside tool calls, and a message of its own for every tool result.
//!
//! `reasoning_content`, `reasoning` and the like, which look-alike providers add, stay unknown fields of
//! their message. A legacy `function_call` is a tool call without an id, a `function` message its result.

mod decode;
mod encode;
mod parts;

pub(crate) use decode::decode;
pub(crate) use encode::encode;

/// How a field of a call's inner object is told from one of the call itself among its unknown fields.
pub(crate) const INNER: &str = "function.";
