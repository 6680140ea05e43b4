//! The calls that failed: which of them do so still, and after which change the others worked.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// A tool call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The tool.
    pub tool: String,
    /// The start of what it was asked.
    pub input: String,
    /// The line that says what went wrong.
    pub error: String,
    /// Where it went wrong, if a line beside that one says so.
    pub place: Option<String>,
    /// The number of the message with the last such call.
    pub message: usize,
    /// How often the same call failed in the same way.
    pub times: usize,
    /// Whether the same call worked later.
    pub solved: Option<Solved>,
}

/// How a call that had failed came to work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solved {
    /// The number of the message with the call that worked.
    pub message: usize,
    /// The file that was changed last between the two.
    pub changed: Option<String>,
}

/// Failures by the call, in the order in which each came up.
#[derive(Default)]
pub(super) struct Failures {
    seen: HashMap<(String, String), Vec<Failed>>,
}

impl Failures {
    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Takes note that a call failed, again or for the first time.
    pub(super) fn add(&mut self, failed: Failed) {
        let of_call = self.seen.entry((failed.tool.clone(), failed.input.clone())).or_default();
        match of_call.iter_mut().find(|known| known.error == failed.error) {
            Some(known) => *known = Failed { times: known.times + 1, ..failed },
            None => of_call.push(failed),
        }
    }

    /// Takes note that a call worked. `changed` is the file that was changed last, and when.
    pub(super) fn solve(
        &mut self,
        tool: &str,
        input: String,
        message: usize,
        changed: Option<&(String, usize)>,
    ) {
        let failures = self.seen.get_mut(&(tool.to_owned(), input));
        for failed in failures.into_iter().flatten().filter(|failed| failed.solved.is_none()) {
            let since = changed.filter(|(_, when)| *when > failed.message);
            failed.solved = Some(Solved { message, changed: since.map(|(file, _)| file.clone()) });
        }
    }

    pub(super) fn finish(self) -> Vec<Failed> {
        let mut failed: Vec<_> = self.seen.into_values().flatten().collect();
        let key = |failed: &Failed| {
            (failed.message, failed.tool.clone(), failed.input.clone(), failed.error.clone())
        };
        failed.sort_by_cached_key(key);
        failed
    }
}
