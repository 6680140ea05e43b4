//! Token counting: exact where the tokenizer is known, an honest estimate where it is not.
//!
//! A [`Tokenizer`] counts text. A [`Counter`] counts messages with it: block by block, media by how
//! providers bill them, base64 never as text. [`ContentCache`] and [`Running`] see to it that nothing
//! is counted twice: the one for messages that come again, the other for text that grows.
//!
//! ```
//! use epitome_core::tokens::{Bpe, Counter, ImagePricing, Running, Tokenizer};
//! use epitome_core::{Message, Role, Tokens};
//!
//! assert_eq!(Bpe::o200k().count("hello world"), Tokens(2));
//!
//! let counter = Counter::new(Bpe::o200k(), ImagePricing::Anthropic);
//! assert_eq!(counter.message(&Message::text(Role::User, "hello world")), Tokens(6));
//!
//! let mut reply = Running::new(Bpe::o200k());
//! reply.push("hello wo");
//! reply.push("rld");
//! assert_eq!(reply.total(), Tokens(2));
//! ```

mod base64;
mod boundary;
mod bpe;
mod cache;
mod counter;
mod image;
mod long_run;
mod pixels;
mod running;
mod seed;
mod tokenizer;

pub use bpe::Bpe;
pub use cache::ContentCache;
pub use counter::{Counter, MESSAGE_OVERHEAD};
pub use image::{Detail, ImagePricing};
pub use pixels::PixelSize;
pub use running::Running;
pub use seed::micro_agent_estimate;
pub use tokenizer::{CharsPerFour, Tokenizer};
