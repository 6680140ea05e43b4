//! OpenAI Responses: a flat list of items, each of which is one core message.
//!
//! Items that carry a call of the client's tools or its result become such blocks, whatever their type;
//! the type rides along. Items of tools that the provider runs hold call and result in one and are kept
//! whole. What is not named here is kept whole, too.

mod decode;
mod encode;
mod items;
mod parts;

pub(crate) use decode::decode;
pub(crate) use encode::encode;
