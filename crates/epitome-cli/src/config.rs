//! `epitome config`: what is in force, and who says so.

use std::io::Write;

use epitome::Origin;
use epitome_core::settings::{self, SETTINGS, Setting};
use serde_json::json;

use crate::args::Config;
use crate::fail::misuse;
use crate::print::{Align, FAINT, Table, paint, say};
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(arguments: &Config, configured: &Settings) -> anyhow::Result<()> {
    let mut wanted: Vec<&Setting> = SETTINGS.iter().collect();
    if !arguments.names.is_empty() {
        let find = |name: &String| {
            settings::find(name).map_err(|error| misuse(error, "epitome config lists every setting"))
        };
        wanted = arguments.names.iter().map(find).collect::<Result<_, _>>()?;
    }
    let said = |setting: &&Setting| configured.origin(setting.name) != Origin::Default;
    wanted.retain(|setting| !arguments.changed || said(setting));
    let mut out = anstream::stdout().lock();
    if arguments.json {
        for setting in &wanted {
            let told = json!({
                "name": setting.name,
                "value": setting.value(&configured.values),
                "default": setting.default_value(),
                "origin": configured.origin(setting.name).to_string(),
                "doc": setting.doc,
            });
            writeln!(out, "{told}")?;
        }
        return Ok(());
    }
    let mut table = Table::new(&[("setting", Align::Left), ("value", Align::Left), ("from", Align::Left)]);
    for setting in &wanted {
        let value = match setting.value(&configured.values) {
            value if value.is_empty() => "none".to_owned(),
            value => value.replace('\n', "\\n"),
        };
        table.row([setting.name.to_owned(), value, configured.origin(setting.name).to_string()]);
    }
    write!(out, "{}", table.render())?;
    if wanted.is_empty() {
        say("everything is at its default");
    } else if arguments.names.is_empty() {
        say(paint(FAINT, "epitome config --json tells what each is for; docs/settings.md, too"));
    }
    Ok(())
}
