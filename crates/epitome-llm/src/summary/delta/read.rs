//! Reads changes from what a model wrote.

use epitome_core::checkpoint::Section;
use serde_json::Value;

use super::{Change, Delta, DeltaError, Id, NAMES};

/// More changes than this are no update.
const MOST: usize = 400;

impl Delta {
    /// The changes in an answer. What stands around the JSON is passed over.
    pub fn read(answer: &str) -> Result<Self, DeltaError> {
        let form = |reason: &str| DeltaError::Form(reason.to_owned());
        let json = object(answer).ok_or_else(|| form("there is no object"))?;
        let value: Value = serde_json::from_str(json).map_err(|error| form(&error.to_string()))?;
        let changes = value.get("changes").and_then(Value::as_array);
        let changes = changes.ok_or_else(|| form("there is no list of changes"))?;
        if changes.len() > MOST {
            return Err(form("there are too many changes"));
        }
        Ok(Self { changes: changes.iter().map(change).collect::<Result<_, _>>()? })
    }
}

// From the first brace to the last one, behind whatever a model thought aloud.
fn object(answer: &str) -> Option<&str> {
    let answer = answer.rsplit_once("</think>").map_or(answer, |(_, after)| after);
    let (start, end) = (answer.find('{')?, answer.rfind('}')?);
    answer.get(start..=end)
}

fn change(value: &Value) -> Result<Change, DeltaError> {
    let field = |name: &str| value.get(name).and_then(Value::as_str);
    let needed = |name: &str| field(name).ok_or_else(|| DeltaError::Form(format!("a change has no {name}")));
    let text = || needed("text").map(str::to_owned);
    match needed("op")? {
        "add" => Ok(Change::Add { section: section(needed("section")?)?, text: text()? }),
        "replace" => Ok(Change::Replace { id: id(needed("id")?)?, text: text()? }),
        "move" => Ok(Change::Move { id: id(needed("id")?)?, section: section(needed("section")?)? }),
        "remove" => Ok(Change::Remove { id: id(needed("id")?)? }),
        other => Err(DeltaError::Form(format!("there is no op {other:?}"))),
    }
}

fn section(name: &str) -> Result<Section, DeltaError> {
    let known = NAMES.iter().find(|(known, _)| *known == name);
    known.map(|(_, section)| *section).ok_or_else(|| DeltaError::UnknownSection(name.to_owned()))
}

fn id(text: &str) -> Result<Id, DeltaError> {
    let unknown = || DeltaError::UnknownId(text.to_owned());
    let (name, number) = text.trim().rsplit_once('.').ok_or_else(unknown)?;
    let section = section(name).map_err(|_| unknown())?;
    Ok(Id { section, number: number.parse().map_err(|_| unknown())? })
}
