//! Anthropic Messages: messages of typed content blocks.

mod decode;
mod encode;

pub(crate) use decode::{content, decode};
pub(crate) use encode::encode;

/// The key under which arguments that are no JSON object travel, since `input` has to be one.
///
/// Other dialects carry arguments as a string, and models do write broken ones. They are wrapped on the
/// way in and unwrapped on the way out, so that converting there and back loses nothing.
pub(crate) const RAW_ARGUMENTS: &str = "__raw_arguments__";
