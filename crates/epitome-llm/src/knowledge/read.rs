//! Reads what a model points at, and looks whether it is there.

use epitome_core::Message;
use epitome_core::knowledge::{Finding, Kind, quoted};
use serde_json::Value;

use super::NoKnowledge;
use crate::call::{Answer, Ending};

/// A sentence that a model points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pointed {
    kind: Kind,
    message: usize,
    quote: String,
}

/// What an answer points at. Lines that are no JSON are passed over where others are.
pub(super) fn pointed(answer: &Answer) -> Result<Vec<Pointed>, NoKnowledge> {
    let text = answer.text.rsplit_once("</think>").map_or(answer.text.as_str(), |(_, after)| after).trim();
    if matches!(answer.ending, Ending::Declined | Ending::Unfinished) {
        return Err(NoKnowledge::Form("the model would not answer".to_owned()));
    }
    if text.is_empty() {
        return Err(NoKnowledge::Form("it is empty".to_owned()));
    }
    let (mut found, mut is_json) = (Vec::new(), false);
    for value in values(text) {
        is_json = true;
        found.extend(one(&value));
    }
    // Nothing worth knowing is an answer, too; what is neither JSON nor of the form is none.
    if found.is_empty() && (!is_json || text.contains('{') && !text.contains("{}")) {
        return Err(NoKnowledge::Form(text.chars().take(60).collect()));
    }
    Ok(found)
}

// All of it as one list, or each line by itself.
fn values(text: &str) -> Vec<Value> {
    if let (Some(start), Some(end)) = (text.find('['), text.rfind(']'))
        && let Some(Ok(Value::Array(list))) = text.get(start..=end).map(serde_json::from_str)
    {
        return if list.is_empty() { vec![Value::Null] } else { list };
    }
    let bare = |line: &str| serde_json::from_str(line.trim().trim_end_matches(',')).ok();
    text.lines().filter_map(bare).filter(Value::is_object).collect()
}

fn one(value: &Value) -> Option<Pointed> {
    let message = value.get("message")?;
    let number = message.as_u64().or_else(|| message.as_str()?.trim_start_matches('#').parse().ok())?;
    Some(Pointed {
        kind: Kind::parse(value.get("kind")?.as_str()?)?,
        message: usize::try_from(number).ok()?,
        quote: value.get("quote")?.as_str()?.to_owned(),
    })
}

/// Those that the messages hold.
pub(super) fn supported(found: Vec<Pointed>, stretches: &[(usize, &[Message])]) -> Vec<Finding> {
    let message = |number: usize| {
        let here =
            stretches.iter().find(|(first, messages)| (*first..first + messages.len()).contains(&number));
        here.and_then(|(first, messages)| messages.get(number - first))
    };
    let finding = |found: Pointed| quoted(message(found.message)?, found.message, found.kind, &found.quote);
    found.into_iter().filter_map(finding).collect()
}
