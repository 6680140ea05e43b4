//! `epitome config`: what is in force, and who says so.

use std::io::Write;

use epitome::{Origin, SERVING, ServingSetting};
use epitome_core::secrets::masked;
use epitome_core::settings::{self, SETTINGS, Setting};
use serde_json::json;

use crate::args::Config;
use crate::fail::misuse;
use crate::print::{Align, FAINT, Table, paint, say};
use crate::settings::Settings;

/// What is told of a setting.
struct Row {
    name: &'static str,
    value: String,
    default: String,
    origin: Origin,
    doc: &'static str,
}

fn row(setting: &Setting, configured: &Settings) -> Row {
    let value = setting.value(&configured.values);
    Row {
        name: setting.name,
        value: if setting.name == "summarizer" { without_secrets(&value) } else { value },
        default: setting.default_value(),
        origin: configured.origin(setting.name),
        doc: setting.doc,
    }
}

// Addresses of models without what may be a secret in them: a user and a password, or a query.
fn without_secrets(models: &str) -> String {
    models.split(',').map(without_secret).collect::<Vec<_>>().join(",")
}

fn without_secret(model: &str) -> String {
    let Some((before, address)) = model.split_once("://") else { return model.to_owned() };
    let (place, query) = match address.split_once(['?', '#']) {
        Some((place, _)) => (place, "?…"),
        None => (address, ""),
    };
    let (host, path) = place.find('/').map_or((place, ""), |at| place.split_at(at));
    let host = host.rsplit_once('@').map_or_else(|| host.to_owned(), |(_, host)| format!("…@{host}"));
    format!("{before}://{host}{path}{query}")
}

// A preset is no setting: it is what all settings begin with.
fn preset(configured: &Settings) -> Row {
    let (name, origin) = match configured.preset() {
        Some((preset, origin)) => (preset.as_str(), origin),
        None => ("none", Origin::Default),
    };
    let doc = "The system whose numbers stand in for the defaults.";
    Row { name: "preset", value: name.to_owned(), default: "none".to_owned(), origin, doc }
}

fn of_proxy(setting: ServingSetting, configured: &Settings) -> Row {
    let (value, origin) = configured.serving.get(setting);
    let default = setting.default.to_owned();
    Row { name: setting.name, value: masked(value).into_owned(), default, origin, doc: setting.doc }
}

fn named(name: &str, configured: &Settings) -> anyhow::Result<Row> {
    if name.eq_ignore_ascii_case("preset") || name == "EPITOME_PRESET" {
        return Ok(preset(configured));
    }
    let plain = name.strip_prefix("EPITOME_").unwrap_or(name).to_lowercase();
    if let Some(setting) = SERVING.into_iter().find(|setting| setting.name == plain) {
        return Ok(of_proxy(setting, configured));
    }
    let found = settings::find(name).map_err(|error| misuse(error, "epitome config lists every setting"))?;
    Ok(row(found, configured))
}

/// Runs the command.
pub(crate) fn run(arguments: &Config, configured: &Settings) -> anyhow::Result<()> {
    let mut wanted = match arguments.names.as_slice() {
        [] => std::iter::once(preset(configured))
            .chain(SETTINGS.iter().map(|setting| row(setting, configured)))
            .chain(SERVING.into_iter().map(|setting| of_proxy(setting, configured)))
            .collect(),
        names => names.iter().map(|name| named(name, configured)).collect::<anyhow::Result<Vec<Row>>>()?,
    };
    wanted.retain(|row| !arguments.changed || row.origin != Origin::Default);
    let mut out = anstream::stdout().lock();
    if arguments.json {
        for Row { name, value, default, origin, doc } in &wanted {
            let origin = origin.to_string();
            let told =
                json!({"name": name, "value": value, "default": default, "origin": origin, "doc": doc});
            writeln!(out, "{told}")?;
        }
        return Ok(());
    }
    let mut table = Table::new(&[("setting", Align::Left), ("value", Align::Left), ("from", Align::Left)]);
    for row in &wanted {
        let value = match row.value.as_str() {
            "" => "none".to_owned(),
            value => value.replace('\n', "\\n"),
        };
        table.row([row.name.to_owned(), value, row.origin.to_string()]);
    }
    write!(out, "{}", table.render())?;
    if wanted.is_empty() {
        say("everything is at its default");
    } else if arguments.names.is_empty() {
        say(paint(FAINT, "epitome config --json tells what each is for; docs/settings.md, too"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_what_may_be_a_secret() {
        let cases = [
            ("offline", "offline"),
            ("anthropic:claude-haiku-4-5", "anthropic:claude-haiku-4-5"),
            ("openai:m@http://127.0.0.1:11434/v1", "openai:m@http://127.0.0.1:11434/v1"),
            ("openai:m@https://me:hunter2@models.example/v1", "openai:m@https://…@models.example/v1"),
            (
                "openai:m@https://models.example/v1?key=hunter2,offline",
                "openai:m@https://models.example/v1?…,offline",
            ),
        ];
        for (written, shown) in cases {
            assert_eq!(without_secrets(written), shown);
        }
    }
}
