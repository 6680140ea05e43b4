//! How much of a window a conversation may fill, and whether the window is large enough to work in at all.

use thiserror::Error;

use super::model::Model;
use crate::pressure::reserve_within;
use crate::units::Tokens;

/// The rules by which a window is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowGuard {
    /// Windows below this are refused.
    pub hard_minimum: Tokens,
    /// Windows below this are warned of.
    pub warn_below: Tokens,
    /// Tokens kept free for the output (`reserve_tokens`), or the model's longest output where that is less.
    pub reserve: Tokens,
}

impl Default for WindowGuard {
    fn default() -> Self {
        Self { hard_minimum: Tokens(16_000), warn_below: Tokens(32_000), reserve: Tokens(20_000) }
    }
}

/// What a window holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The window.
    pub window: Tokens,
    /// Kept free for the output.
    pub reserve: Tokens,
    /// What is left for the input.
    pub input: Tokens,
    /// Whether the window is so small that the user should know.
    pub is_small: bool,
}

/// A window that cannot be worked in.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the context window of {model} is {window:#} tokens; at least {minimum:#} are needed")]
pub struct WindowError {
    /// The model.
    pub model: String,
    /// Its window.
    pub window: Tokens,
    /// What is needed.
    pub minimum: Tokens,
}

impl WindowGuard {
    /// Judges a model's window.
    pub fn check(&self, model: &Model) -> Result<Room, WindowError> {
        let window = model.window;
        if window < self.hard_minimum {
            return Err(WindowError {
                model: model.id.clone().into_owned(),
                window,
                minimum: self.hard_minimum,
            });
        }
        let reserve = reserve_within(self.reserve.min(model.max_output), window);
        Ok(Room { window, reserve, input: window - reserve, is_small: window < self.warn_below })
    }
}

#[cfg(test)]
mod tests {
    use super::super::ModelTable;
    use super::*;

    #[test]
    fn refuses_warns_and_reserves() {
        let mut model = ModelTable::default().get("claude-opus-4-5").model;
        let guard = WindowGuard::default();
        let room = guard.check(&model).unwrap();
        assert_eq!((room.reserve, room.input, room.is_small), (Tokens(20_000), Tokens(180_000), false));

        model.max_output = Tokens(8_192);
        assert_eq!(guard.check(&model).unwrap().reserve, Tokens(8_192));

        for (window, refused, is_small) in
            [(15_999, true, true), (16_000, false, true), (31_999, false, true), (32_000, false, false)]
        {
            model.window = Tokens(window);
            assert_eq!(guard.check(&model).is_err(), refused, "{window}");
            assert!(
                guard.check(&model).is_ok_and(|room| room.is_small) == (is_small && !refused),
                "{window}"
            );
        }
        model.window = Tokens(8_192);
        assert_eq!(
            guard.check(&model).unwrap_err().to_string(),
            "the context window of claude-opus-4.5 is 8,192 tokens; at least 16,000 are needed"
        );
    }
}
