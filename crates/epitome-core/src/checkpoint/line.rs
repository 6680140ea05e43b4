//! What a single line of Markdown is, as models write it.
//!
//! The writer asks the same questions as the reader, so that it knows which lines it must escape.

use super::fence::Fence;
use super::titles::Title;

/// How the headings of a text are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// With `#`.
    Hash,
    /// In some other way: bold, numbered, or as plain lines.
    Plain,
}

/// A line without its indentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Blank,
    Heading(Heading<'a>),
    Fence(Fence<'a>),
    /// A list item: what follows the bullet.
    Bullet(&'a str),
    /// A quoted line, without its sign.
    Quote(&'a str),
    /// A line across the page, or a closing tag.
    Rule,
    /// A row of a table.
    Row(&'a str),
    Prose(&'a str),
}

/// A heading, and text behind it on the same line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heading<'a> {
    /// 1 is the highest; what is no `#` heading counts as the lowest.
    pub(super) level: usize,
    /// As written.
    pub(super) raw: &'a str,
    /// What it means.
    pub(super) title: Option<Title>,
    /// Text behind it.
    pub(super) inline: &'a str,
}

/// The level of headings that are not written with `#`.
const LOWEST: usize = 7;

impl<'a> Line<'a> {
    /// What a line is in a text of this style.
    pub(super) fn of(line: &'a str, style: Style) -> Self {
        let line = line.trim();
        if line.is_empty() {
            return Line::Blank;
        }
        if line.starts_with('\\') {
            return Line::Prose(line);
        }
        if let Some(heading) = hash_heading(line).or_else(|| tag(line)).or_else(|| bold_heading(line, style))
        {
            return Line::Heading(heading);
        }
        if let Some(fence) = Fence::of(line) {
            return Line::Fence(fence);
        }
        if is_rule(line) || closing_tag(line).is_some_and(str::is_empty) {
            return Line::Rule;
        }
        if let Some(quoted) = line.strip_prefix('>') {
            return Line::Quote(quoted.strip_prefix(' ').unwrap_or(quoted));
        }
        if line.len() > 1 && line.starts_with('|') && line.ends_with('|') {
            return Line::Row(line);
        }
        if style == Style::Plain
            && let Some(heading) = plain_heading(bullet(line).unwrap_or(line))
        {
            return Line::Heading(heading);
        }
        match bullet(line) {
            Some(text) => Line::Bullet(text),
            // A line may open with its mark instead of a bullet.
            None if Mark::strip(line).is_some() => Line::Bullet(line),
            None => Line::Prose(closing_tag(line).unwrap_or(line)),
        }
    }

    /// Whether a line would be taken for anything but the text that it is, in whatever style.
    pub(super) fn misleads(line: &str) -> bool {
        let bare = line.trim_start_matches('\\');
        // A sign that means nothing by itself may mean something with words behind it.
        let followed = format!("{bare} (#0 user)");
        let reads_as_it_is = |line: &str, style| Line::of(line, style) == Line::Prose(line);
        ![Style::Hash, Style::Plain]
            .iter()
            .all(|style| reads_as_it_is(bare, *style) && reads_as_it_is(&followed, *style))
    }
}

/// A heading with its own text, or with text behind a colon.
pub(super) fn heading(raw: &str, level: usize) -> Heading<'_> {
    let raw = raw.trim();
    if raw.starts_with('\\') {
        return Heading { level, raw, title: None, inline: "" };
    }
    let title = Title::of(raw);
    if title.is_none()
        && let Some((before, after)) = raw.split_once([':', '：'])
        && let Some(title) = Title::of(before)
    {
        return Heading { level, raw: before, title: Some(title), inline: after.trim_matches(markup) };
    }
    Heading { level, raw, title, inline: "" }
}

fn markup(c: char) -> bool {
    c.is_whitespace() || c == '*'
}

fn hash_heading(line: &str) -> Option<Heading<'_>> {
    let raw = line.trim_start_matches('#');
    let level = line.len() - raw.len();
    let apart = raw.starts_with(char::is_whitespace);
    // "##Goal" is a heading, "#12 is fixed" and "#include" are not.
    let known = || level >= 2 && Title::of(raw).is_some();
    ((1..LOWEST).contains(&level) && (apart || known())).then(|| heading(raw, level))
}

// `<goal>`, as some are told to write; `<tool>` inside a text is no heading.
fn tag(line: &str) -> Option<Heading<'_>> {
    let (name, inline) = line.strip_prefix('<')?.split_once('>')?;
    let title = tag_title(name)?;
    let inline = closing_tag(inline).unwrap_or(inline).trim();
    Some(Heading { level: LOWEST, raw: name, title: Some(title), inline })
}

fn tag_title(name: &str) -> Option<Title> {
    let named = name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
    if named { Title::of(name) } else { None }
}

// What stands before the closing tag of a section at the end of a line.
fn closing_tag(line: &str) -> Option<&str> {
    let (text, name) = line.strip_suffix('>')?.rsplit_once("</")?;
    tag_title(name).map(|_| text.trim_end())
}

// `**Goal**`, `**Goal:**`, `**Goal:** text`, `**Goal**: text`, alone on a line or after a bullet.
fn bold_heading(line: &str, style: Style) -> Option<Heading<'_>> {
    let numbered = match style {
        Style::Plain => bullet(line).unwrap_or(line),
        Style::Hash => line,
    };
    let (raw, after) = ["**", "__"]
        .iter()
        .find_map(|sign| numbered.strip_prefix(sign).and_then(|rest| rest.split_once(sign)))?;
    let title = Title::of(raw);
    let colon = raw.trim_end().ends_with([':', '：']) || after.trim_start().starts_with([':', '：']);
    let inline = after.trim_start().trim_start_matches([':', '：']).trim();
    let alone = inline.is_empty() && style == Style::Plain && numbered == line && is_short(raw);
    let announces = title.is_some() && (colon || inline.is_empty());
    (announces || alone).then_some(Heading { level: LOWEST, raw, title, inline })
}

fn is_short(title: &str) -> bool {
    title.chars().count() <= 60 && !title.trim_end().ends_with(['.', '!', '?'])
}

// `Goal`, `Goal:`, `Goal: text` where no heading of the text is marked as one.
fn plain_heading(line: &str) -> Option<Heading<'_>> {
    if let Some(title) = Title::of(line).filter(|_| !line.ends_with('.')) {
        return Some(Heading { level: LOWEST, raw: line, title: Some(title), inline: "" });
    }
    Some(heading(line, LOWEST)).filter(|heading| heading.title.is_some())
}

fn is_rule(line: &str) -> bool {
    let sign = line.chars().next().unwrap_or_default();
    matches!(sign, '-' | '*' | '_' | '=' | '─' | '━') && line.len() >= 3 && line.chars().all(|c| c == sign)
}

/// Whether a line underlines the heading above it.
pub(super) fn is_underline(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && (line.chars().all(|c| c == '=') || line.chars().all(|c| c == '-'))
}

/// What follows a bullet or a number, if the line starts with one.
pub(super) fn bullet(line: &str) -> Option<&str> {
    let sign = line.chars().next()?;
    let rest = line.get(sign.len_utf8()..)?;
    match sign {
        '-' | '*' | '+' | '–' | '—' | '·' | '→' => apart(rest),
        '•' | '●' | '○' | '▪' | '‣' | '◦' | '■' | '□' | '◆' | '➤' | '►' => {
            Some(rest.trim_start())
        }
        '(' => numbered(rest, &[')']),
        _ if sign.is_ascii_digit() => numbered(line, &['.', ')', '、', '．']),
        _ => None,
    }
}

fn apart(rest: &str) -> Option<&str> {
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim_start())
}

fn numbered<'a>(line: &'a str, ends: &[char]) -> Option<&'a str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    let end = rest.chars().next().filter(|c| ends.contains(c))?;
    let rest = rest.get(end.len_utf8()..)?;
    let wide = matches!(end, '、' | '．');
    ((1..=3).contains(&digits)).then_some(())?;
    if wide { Some(rest.trim_start()) } else { apart(rest) }
}

/// A mark before an item that says how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Done,
    Open,
    Failed,
}

impl Mark {
    /// The mark at the start of an item, and what follows it.
    pub(super) fn strip(text: &str) -> Option<(Mark, &str)> {
        const MARKS: [(&str, Mark); 21] = [
            ("[x]", Mark::Done),
            ("[X]", Mark::Done),
            ("[✓]", Mark::Done),
            ("[✔]", Mark::Done),
            ("[done]", Mark::Done),
            ("[DONE]", Mark::Done),
            ("[ ]", Mark::Open),
            ("[]", Mark::Open),
            ("[-]", Mark::Open),
            ("[~]", Mark::Open),
            ("✅", Mark::Done),
            ("✔", Mark::Done),
            ("✓", Mark::Done),
            ("☑", Mark::Done),
            ("☐", Mark::Open),
            ("⬜", Mark::Open),
            ("🔄", Mark::Open),
            ("⏳", Mark::Open),
            ("🚧", Mark::Open),
            ("❌", Mark::Failed),
            ("✗", Mark::Failed),
        ];
        let (sign, mark) = MARKS.iter().find(|(sign, _)| text.starts_with(sign))?;
        let rest = text.get(sign.len()..)?.trim_start_matches('\u{fe0f}');
        // "[]string" and "[x](link)" are no check boxes.
        let boxed = sign.ends_with(']');
        (!boxed || rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| (*mark, rest.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let cases = [
            ("  ", "blank"),
            ("## Goal", "heading"),
            ("##Goal", "heading"),
            ("#12 is fixed", "prose"),
            ("#include <a.h>", "prose"),
            ("**Goal:** ship it", "heading"),
            ("**Goals** are hard", "prose"),
            ("**Careful**", "prose"),
            ("<next_steps>", "heading"),
            ("</next_steps>", "rule"),
            ("<div>", "prose"),
            ("```rust", "fence"),
            ("``` `x` ```", "prose"),
            ("---", "rule"),
            ("- a", "bullet"),
            ("-a", "prose"),
            ("•a", "bullet"),
            ("12) a", "bullet"),
            ("2026. a", "prose"),
            ("1、a", "bullet"),
            ("(1) a", "bullet"),
            ("✅ a", "bullet"),
            ("> a", "quote"),
            ("| a | b |", "row"),
            ("\\- a", "prose"),
            ("Goal: ship it", "prose"),
        ];
        for (line, expected) in cases {
            let kind = match Line::of(line, Style::Hash) {
                Line::Blank => "blank",
                Line::Heading(_) => "heading",
                Line::Fence(_) => "fence",
                Line::Bullet(_) => "bullet",
                Line::Quote(_) => "quote",
                Line::Rule => "rule",
                Line::Row(_) => "row",
                Line::Prose(_) => "prose",
            };
            assert_eq!(kind, expected, "{line:?}");
        }
        assert!(matches!(Line::of("Goal: ship it", Style::Plain), Line::Heading(_)));
        assert!(matches!(Line::of("2. **Next Steps**:", Style::Plain), Line::Heading(_)));
    }

    #[test]
    fn marks_are_not_links_or_types() {
        assert_eq!(Mark::strip("[x] a"), Some((Mark::Done, "a")));
        assert_eq!(Mark::strip("✔️ a"), Some((Mark::Done, "a")));
        assert_eq!(Mark::strip("[]string"), None);
        assert_eq!(Mark::strip("[x](http://a)"), None);
    }
}
