//! Code blocks: where they start and where they end.

/// The start or the end of a code block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    pub(super) sign: char,
    pub(super) length: usize,
    pub(super) info: &'a str,
}

impl Fence<'_> {
    pub(super) fn of(line: &str) -> Option<Fence<'_>> {
        let line = line.trim();
        let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = line.trim_start_matches(sign);
        let length = line.len() - info.len();
        (length >= 3 && !info.contains('`')).then_some(Fence { sign, length, info: info.trim() })
    }

    /// Whether `other` ends the block that this one starts.
    pub(super) fn closed_by(&self, other: &Fence<'_>) -> bool {
        self.sign == other.sign && other.length >= self.length && other.info.is_empty()
    }
}

/// Where code blocks end. Remembers what was sought in vain, so that a text full of fences costs no more.
#[derive(Default)]
pub(super) struct Closings {
    in_vain: [Option<usize>; 2],
}

impl Closings {
    /// The number of the line that ends the block which starts at `start`.
    pub(super) fn end(&mut self, lines: &[&str], start: usize, fence: &Fence<'_>) -> Option<usize> {
        let memory = self.in_vain.get_mut(usize::from(fence.sign == '~'))?;
        if memory.is_some_and(|length| fence.length >= length) {
            return None;
        }
        let rest = lines.get(start + 1..)?;
        let closes = |line: &&str| Fence::of(line).is_some_and(|other| fence.closed_by(&other));
        let found = rest.iter().position(closes).map(|offset| start + 1 + offset);
        if found.is_none() {
            *memory = Some(fence.length);
        }
        found
    }
}
