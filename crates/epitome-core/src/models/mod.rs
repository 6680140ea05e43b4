//! What must be known of a model: how much it takes, how much it says, what it costs, how it counts.
//!
//! The built-in [`ModelTable`] knows the current models of the large providers; settings extend it. A
//! model that nobody knows gets values that are safe for most, and a [`Warning`] to pass on.
//!
//! ```
//! use epitome_core::Tokens;
//! use epitome_core::models::ModelTable;
//!
//! let found = ModelTable::default().get("us.anthropic.claude-opus-4-5-20251101-v1:0");
//! assert_eq!(found.model.window, Tokens(200_000));
//! assert_eq!(found.warning, None);
//! ```

mod id;
mod lookup;
mod model;
mod table;
mod window;

pub(crate) use lookup::start;
pub use lookup::{Found, ModelTable, Warning};
pub use model::{Caching, LongContext, Model, ModelPatch, Price, Provider, ThinkingBinding, Vocabulary};
pub use window::{Room, WindowError, WindowGuard};
