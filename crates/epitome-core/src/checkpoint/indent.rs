//! White space at the start of lines; a tab is four columns wide.

/// How many columns of white space a line starts with.
pub(super) fn indentation(line: &str) -> usize {
    let width = |c| if c == '\t' { 4 } else { 1 };
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).map(width).sum()
}

/// A line without so many columns of white space at its start, or as many as it has.
pub(super) fn unindented(line: &str, columns: usize) -> &str {
    let mut taken = 0;
    let end = line.char_indices().find(|(_, c)| {
        let done = taken >= columns || !matches!(c, ' ' | '\t');
        taken += if *c == '\t' { 4 } else { 1 };
        done
    });
    end.map_or("", |(at, _)| line.get(at..).unwrap_or_default())
}
