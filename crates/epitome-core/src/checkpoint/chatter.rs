//! What models say around a summary: greetings, announcements, offers.

use super::READERS_NOTE;

/// Whether these are words to the reader, not about the work.
pub(super) fn is_chatter(text: &str) -> bool {
    const OPENINGS: [&str; 46] = [
        "here is",
        "here's",
        "here are",
        "sure",
        "okay",
        "ok,",
        "ok.",
        "certainly",
        "of course",
        "absolutely",
        "below is",
        "the following",
        "based on the conversation",
        "based on our",
        "i've",
        "i have",
        "i will",
        "i'll",
        "let me",
        "let's",
        "feel free",
        "i hope",
        "hope this",
        "would you",
        "if you",
        "please let",
        "this summary",
        "this checkpoint",
        "end of",
        "[end",
        "this session is being",
        "shall i",
        "do you want",
        "should i",
        "as requested",
        "understood",
        "got it",
        "happy to",
        "great",
        "hier ist",
        "voici",
        "aquí",
        "以下是",
        "以下は",
        "please continue",
        "(end",
    ];
    const LONGEST: usize = 300;
    let lower = text.trim_start_matches(['*', '_', ' ']).to_lowercase();
    text == READERS_NOTE || text.len() <= LONGEST && OPENINGS.iter().any(|opening| lower.starts_with(opening))
}
