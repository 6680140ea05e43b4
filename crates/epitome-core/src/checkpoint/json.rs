//! Summaries that a model wrote as JSON, turned into the Markdown that they stand for.

use serde_json::{Map, Value};

use super::entry::{Item, Request, Source};
use super::escape::role_of;
use super::excerpt::Excerpt;
use super::line::{Line, Style};
use super::model::{Checkpoint, Section};
use super::titles::Title;
use super::verbatim::source;

/// The Markdown that a value stands for; `None` where it is no summary.
pub(super) fn markdown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => {
            let announced = |line: &str| matches!(Line::of(line, Style::Plain), Line::Heading(_));
            let whole = fields.iter().find_map(|(name, value)| {
                let text = value.as_str()?;
                let document = matches!(Title::of(name), Some(Title::Document) | None);
                (document && (fields.len() == 1 || text.lines().any(announced))).then(|| text.to_owned())
            });
            let inner = || match fields.values().next() {
                Some(value @ Value::Object(_)) if fields.len() == 1 && !knows(fields) => markdown(value),
                _ => None,
            };
            whole.or_else(inner).or_else(|| knows(fields).then(|| sections(fields, 2)))
        }
        _ => None,
    }
}

fn knows(fields: &Map<String, Value>) -> bool {
    fields.keys().any(|name| !matches!(Title::of(name), Some(Title::Document) | None))
}

fn sections(fields: &Map<String, Value>, level: usize) -> String {
    let mut page = String::new();
    for (name, value) in fields {
        let heading = format!("{} {}", "#".repeat(level), name.replace('_', " "));
        let body = match value {
            value if Title::of(name) == Some(Title::Section(Section::Excerpts)) => {
                excerpts(value).unwrap_or_default()
            }
            Value::Object(inner) if level < 6 => sections(inner, level + 1),
            Value::Array(values) => values.iter().filter_map(entry).collect(),
            Value::String(text) if Title::of(name) == Some(Title::Section(Section::Request)) => {
                quoted(text).unwrap_or_default()
            }
            Value::String(text) if text.contains('\n') => format!("{}\n", text.trim()),
            other => entry(other).unwrap_or_default(),
        };
        page.push_str(&format!("{heading}\n{body}\n"));
    }
    page
}

fn quoted(text: &str) -> Option<String> {
    let page = Checkpoint { request: Request::new(text, None), ..Checkpoint::default() }.render();
    page.split_once('\n').map(|(_, lines)| format!("{lines}\n"))
}

fn excerpts(value: &Value) -> Option<String> {
    let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let excerpts = values.iter().filter_map(excerpt).collect();
    let page = Checkpoint { excerpts, ..Checkpoint::default() }.render();
    page.split_once(Section::Excerpts.heading()).map(|(_, lines)| format!("{lines}\n"))
}

// Its source is where it says so or lies beside the text; everything else that is text is a piece.
fn excerpt(value: &Value) -> Option<Excerpt> {
    let Value::Object(fields) = value else {
        let stated = value.as_str().and_then(|text| text.split_once('\n'));
        let stated = stated.and_then(|(first, rest)| Some((source(first)?, vec![rest.to_owned()])));
        let (source, pieces) = stated.unwrap_or_else(|| (None, pieces(value)));
        return Excerpt::new(pieces, source);
    };
    let place = fields.get("source").and_then(Value::as_object).unwrap_or(fields);
    let message = place.get("message").and_then(Value::as_u64).and_then(|message| message.try_into().ok());
    let role = place.get("role").and_then(Value::as_str).and_then(role_of);
    let source = message.zip(role).map(|(message, role)| Source { message, role });
    let told = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "source" | "message" | "role"));
    Excerpt::new(told.flat_map(|(_, value)| pieces(value)).collect(), source)
}

fn pieces(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(pieces).collect(),
        _ => Vec::new(),
    }
}

fn entry(value: &Value) -> Option<String> {
    let (mark, text) = match value {
        Value::Object(fields) => (mark(fields), statement(fields)),
        other => ("", plain(other)),
    };
    let item = Item::new(&text, None)?;
    Some(format!("- {mark}{}\n", item.text().replace('\n', "\n  ")))
}

fn mark(fields: &Map<String, Value>) -> &'static str {
    let status =
        fields.get("status").or_else(|| fields.get("state")).and_then(Value::as_str).unwrap_or_default();
    let flag = fields.get("done").or_else(|| fields.get("completed")).and_then(Value::as_bool);
    match (flag, status.to_lowercase().as_str()) {
        (Some(true), _) | (None, "done" | "completed" | "complete" | "finished") => "[x] ",
        (Some(false), _) | (None, "in_progress" | "in progress" | "pending" | "todo" | "open") => "[ ] ",
        _ => "",
    }
}

// The first field names the thing, the others say what of it.
fn statement(fields: &Map<String, Value>) -> String {
    let told = |name: &str| !matches!(name, "done" | "completed" | "status" | "state" | "id");
    let mut values = fields.iter().filter(|(name, _)| told(name)).map(|(_, value)| plain(value));
    let first = values.next().unwrap_or_default();
    let rest: Vec<String> = values.filter(|text| !text.is_empty()).collect();
    if rest.is_empty() { first } else { format!("{first}: {}", rest.join("; ")) }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.trim().to_owned(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => statement(fields),
        other => other.to_string(),
    }
}
