//! The user's latest request, as it was quoted.

use super::entry::Request;
use super::escape::split_provenance;
use super::fence::Fence;
use super::line::{Heading, bullet};
use super::outline::Part;
use super::parse::Parsed;

/// Takes the request from the lines of its section; what stands around it is reported.
pub(super) fn fill_request(part: &Part<'_>, parsed: &mut Parsed) {
    let source = part.heading.as_ref().and_then(|heading: &Heading<'_>| split_provenance(heading.raw).1);
    let quoted = |line: &&str| line.trim_start().starts_with('>');
    let text = if part.lines.iter().any(quoted) {
        let lines = part.lines.iter().filter(|line| quoted(line)).map(|line| {
            let line = line.trim_start().strip_prefix('>').unwrap_or_default();
            line.strip_prefix(' ').unwrap_or(line)
        });
        let around = part.lines.iter().filter(|line| !quoted(line)).map(|line| (*line).to_owned());
        parsed.ignored.extend(around);
        lines.collect::<Vec<_>>().join("\n")
    } else {
        unquoted_request(&part.lines)
    };
    if let Some(request) = Request::new(&text, source) {
        parsed.checkpoint.request = Some(request);
    }
}

fn unquoted_request(lines: &[&str]) -> String {
    let joined = lines.join("\n");
    let text = joined.trim();
    let fenced = || {
        let (open, rest) = text.split_once('\n')?;
        let (inside, close) = rest.rsplit_once('\n')?;
        Fence::of(open)?.closed_by(&Fence::of(close)?).then_some(inside)
    };
    if let Some(inside) = fenced() {
        return inside.to_owned();
    }
    if text.contains('\n') {
        return text.to_owned();
    }
    let line = bullet(text).unwrap_or(text);
    let pairs = [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」')];
    let inside = pairs.iter().find_map(|(open, close)| line.strip_prefix(*open)?.strip_suffix(*close));
    inside.unwrap_or(line).to_owned()
}
