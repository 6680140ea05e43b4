//! Questions of the user that nobody has answered yet.

use super::parts::Voice;
use super::quick::QuickSet;
use super::reading::Reading;

/// A question has at least so many words that mean something.
const LEAST: usize = 3;
/// An answer takes up at least this part of them.
const TAKEN_UP: usize = 4;
/// Whoever has said this much since does not wait for an answer.
const MESSAGES: usize = 3;

/// The questions that are open, in their order.
pub(super) fn open_questions(reading: &Reading<'_>) -> Vec<usize> {
    let mut open = Vec::new();
    for (number, (part, units)) in reading.parts.iter().zip(&reading.of_part).enumerate() {
        if part.voice != Voice::User {
            continue;
        }
        let mut asked = units.clone().filter(|unit| is_question(reading, *unit)).peekable();
        if asked.peek().is_none() {
            continue;
        }
        let answers = answers(reading, number);
        let taken_up = |unit: &usize| {
            let terms = reading.terms(*unit);
            terms.iter().filter(|term| answers.contains(term)).count() * TAKEN_UP >= terms.len()
        };
        open.extend(asked.filter(|unit| !taken_up(unit)));
    }
    open
}

fn is_question(reading: &Reading<'_>, unit: usize) -> bool {
    reading.text(unit).trim_end().ends_with(['?', '？']) && reading.terms(unit).len() >= LEAST
}

// The words that the agent says after a part, until the user has gone on for some messages.
fn answers(reading: &Reading<'_>, part: usize) -> QuickSet<u32> {
    let mut words = QuickSet::default();
    let mut spoken = 0;
    for (later, units) in reading.parts.iter().zip(&reading.of_part).skip(part + 1) {
        match later.voice {
            Voice::User => spoken += 1,
            Voice::Agent => words.extend(units.clone().flat_map(|unit| reading.terms(unit)).copied()),
            Voice::Call | Voice::Tool | Voice::Frame => {}
        }
        if spoken == MESSAGES {
            break;
        }
    }
    words
}
