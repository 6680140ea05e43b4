//! Adding to the system prompt of an Anthropic body, where it stands outside the messages.

use crate::error::WireError;
use crate::json::{Kind, Span, Splice, members, quote, value};

/// The body with one more block of text at the end of its `system`; every other byte stays.
pub fn append_system(body: &str, text: &str) -> Result<String, WireError> {
    let object = value(body)?;
    let mut system = None;
    for member in members(body, object) {
        let (key, span) = member?;
        if key == "system" {
            system = Some(span);
        }
    }
    let block = block(text);
    let mut splice = Splice::new();
    match system {
        Some(span) => splice.replace(span, with_block(span.of(body), &block)),
        None => {
            let inside = Span { start: object.start + 1, end: object.start + 1 };
            let comma = if members(body, object).next().is_some() { "," } else { "" };
            splice.replace(inside, format!("\"system\":[{block}]{comma}"));
        }
    }
    let mut out = String::with_capacity(body.len() + block.len());
    splice.write(body, Span { start: 0, end: body.len() }, &mut out);
    Ok(out)
}

/// The `system` of such a body, given as JSON, with one more block of text at its end.
pub fn system_with(system: Option<&str>, text: &str) -> String {
    with_block(system.unwrap_or_default(), &block(text))
}

fn block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(text))
}

fn with_block(system: &str, block: &str) -> String {
    match Kind::of(system) {
        Some(Kind::String) => format!("[{{\"type\":\"text\",\"text\":{system}}},{block}]"),
        Some(Kind::Array) => {
            let inner = system.trim_end().strip_suffix(']').unwrap_or(system).trim_end();
            let comma = if inner.ends_with('[') { "" } else { "," };
            format!("{inner}{comma}{block}]")
        }
        _ => format!("[{block}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_comes_last_and_nothing_else_moves() {
        let block = r#"{"type":"text","text":"so far"}"#;
        let cases = [
            (r#"{"messages":[]}"#, format!(r#"{{"system":[{block}],"messages":[]}}"#)),
            (r#"{}"#, format!(r#"{{"system":[{block}]}}"#)),
            (
                r#"{ "system": "Be brief.", "n":1}"#,
                format!(r#"{{ "system": [{{"type":"text","text":"Be brief."}},{block}], "n":1}}"#),
            ),
            (
                r#"{"system":[{"type":"text","text":"a","cache_control":{}} ]}"#,
                format!(r#"{{"system":[{{"type":"text","text":"a","cache_control":{{}}}},{block}]}}"#),
            ),
            (r#"{"system":[]}"#, format!(r#"{{"system":[{block}]}}"#)),
            (r#"{"system":null}"#, format!(r#"{{"system":[{block}]}}"#)),
        ];
        for (body, expected) in cases {
            assert_eq!(append_system(body, "so far").unwrap(), expected);
        }
        assert!(append_system("[", "x").is_err());
        assert_eq!(system_with(None, "so far"), format!("[{block}]"));
        let both = format!(r#"[{{"type":"text","text":"Be brief."}},{block}]"#);
        assert_eq!(system_with(Some(r#""Be brief.""#), "so far"), both);
    }
}
