//! One whole text as one session.

use super::error::{Damaged, FileError};
use super::format::Format;
use super::log::{Damage, Log};
use super::reader::Summaries;
use super::transcript::Transcript;
use super::{claude_code, codex, pi, plain, swe_agent};
use crate::dialect::Dialect;

/// The text of a session, and what is already known to be wrong with it.
pub(super) struct Source {
    pub(super) text: String,
    pub(super) damage: Vec<Damaged>,
    pub(super) mode: Damage,
    pub(super) summaries: Summaries,
}

/// Reads `source` as a session of this format.
pub(super) fn session(source: Source, format: Format) -> Result<Transcript, FileError> {
    let Source { text, mut damage, mode, summaries } = source;
    let mut log = Log::new(&text, 1, mode);
    let (assembly, dialect) = match format {
        Format::ClaudeCode => (claude_code::read(&text, summaries, &mut log)?, Dialect::Anthropic),
        Format::Pi => (pi::read(&text, &mut log)?, Dialect::Chat),
        Format::Codex => (codex::read(&text, &mut log)?, Dialect::Responses),
        Format::SweAgent => (swe_agent::read(&text, &mut log)?, Dialect::Chat),
        Format::MessagesJsonl => plain::read_lines(&text, &mut log)?,
        Format::Anthropic | Format::Chat | Format::Responses | Format::Messages | Format::Conversations => {
            let root = plain::root(&text, &mut log)?;
            plain::read(&text, root, format, &mut log)?
        }
    };
    damage.extend(log.into_damage());
    damage.sort_by_key(|damaged| (damaged.line, damaged.column));
    Ok(assembly.finish(format, dialect, text, damage))
}
