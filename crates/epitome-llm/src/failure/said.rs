//! What the body of a reply or the data of an event says about an error, whoever wrote it.

use serde_json::{Map, Value};

use super::template::Numbers;

/// An error as it was told.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    /// Every code and type that was given.
    pub(super) codes: Vec<String>,
    /// The status that stands in the body.
    pub(super) status: Option<u16>,
    /// The message.
    pub(super) message: String,
    /// The sizes that stand in fields of their own.
    pub(super) sizes: Numbers,
}

/// Errors are short; a larger body is an answer.
const LARGEST_ERROR: usize = 256 * 1024;

impl Said {
    /// What a body says that comes with the status of an error.
    pub(super) fn in_error(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body.get(..LARGEST_ERROR).unwrap_or(body));
        match serde_json::from_str(&text) {
            Ok(json) => Self::in_json(&json).unwrap_or_else(|| Self::plain(&json.to_string())),
            Err(_) => Self::plain(&without_markup(&text)),
        }
    }

    /// What a body says that comes with a good status, if it is an error all the same.
    pub(super) fn in_answer(body: &[u8]) -> Option<Self> {
        let is_small = body.len() <= LARGEST_ERROR;
        let json = is_small.then(|| serde_json::from_slice(body).ok()).flatten()?;
        Self::in_json(&json)
    }

    /// What JSON says, where it is an error.
    pub(super) fn in_json(json: &Value) -> Option<Self> {
        // Google wraps its error in a list; Responses puts it into the response.
        let json = json.as_array().and_then(|list| list.first()).unwrap_or(json);
        let object = json.as_object()?;
        let is_event = object.get("type").and_then(Value::as_str) == Some("error");
        let inner = object.get("response").and_then(Value::as_object);
        let error = object.get("error").or_else(|| inner.and_then(|inner| inner.get("error")));
        match error.filter(|error| !error.is_null()) {
            Some(Value::Object(error)) => Some(Self::of_object(error)),
            Some(Value::String(message)) => Some(Self { codes: codes(object), ..Self::plain(message) }),
            _ if is_event || object.get("object").and_then(Value::as_str) == Some("error") => {
                Some(Self::of_object(object))
            }
            _ => None,
        }
    }

    fn of_object(error: &Map<String, Value>) -> Self {
        let number = |key: &str| error.get(key).and_then(Value::as_u64);
        let message = error.get("message").or_else(|| error.get("detail"));
        let message = match message {
            Some(Value::String(message)) => message.clone(),
            Some(other) => other.to_string(),
            None => Value::Object(error.clone()).to_string(),
        };
        let wrapped = error.get("metadata").and_then(|metadata| metadata.get("raw")).and_then(Value::as_str);
        Self {
            codes: codes(error),
            status: number("code").or_else(|| number("status")).and_then(|code| u16::try_from(code).ok()),
            message: wrapped.map_or(message.clone(), |raw| format!("{message}: {raw}")),
            sizes: Numbers { limit: number("n_ctx"), requested: number("n_prompt_tokens"), output: None },
        }
    }

    fn plain(message: &str) -> Self {
        Self { message: message.trim().to_owned(), ..Self::default() }
    }
}

fn codes(object: &Map<String, Value>) -> Vec<String> {
    let details = object.get("details").and_then(|details| details.get("error_code"));
    let given = ["code", "type", "status"].iter().filter_map(|key| object.get(*key)).chain(details);
    given.filter_map(Value::as_str).map(str::to_ascii_lowercase).collect()
}

// Gateways answer with pages; what is between their tags is the message.
fn without_markup(text: &str) -> String {
    if !text.trim_start().starts_with('<') {
        return text.to_owned();
    }
    let parts = text.split('<').filter_map(|part| part.split_once('>')).map(|(_, said)| said.trim());
    parts.filter(|said| !said.is_empty()).collect::<Vec<_>>().join(" ")
}
