//! What a ledger does, written once for both databases, a file a concept.
//!
//! Messages and turns lie on the session that appended them, numbered along its path. A fork begins where its parent
//! stood; the spans of its ancestors are stored with it. So any stretch of any path is a few range scans, and no read
//! walks to the root.

pub(crate) mod append;
pub(crate) mod arrival;
mod best;
pub(crate) mod code;
pub(crate) mod compact;
pub(crate) mod conversation;
pub(crate) mod entry;
pub(crate) mod episode;
pub(crate) mod event;
pub(crate) mod finding;
pub(crate) mod fork;
pub(crate) mod hit;
pub(crate) mod index;
pub(crate) mod landing;
pub(crate) mod lease;
pub(crate) mod memo;
pub(crate) mod message;
pub(crate) mod note;
pub(crate) mod pack;
pub(crate) mod path;
pub(crate) mod prefix;
pub(crate) mod purge;
pub(crate) mod recall;
pub(crate) mod search;
pub(crate) mod session;
pub(crate) mod tenant;
pub(crate) mod turn;
pub(crate) mod view;
