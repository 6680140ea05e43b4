//! `epitome count`: how many tokens.

use std::borrow::Cow;
use std::io::{Read, Write};

use epitome_core::Tokens;
use epitome_core::tokens::{Bpe, Tokenizer};
use serde::Serialize;

use crate::args::Count;
use crate::fail::failure;
use crate::input::{self, Item, Source};
use crate::print::{Align, Table, grouped, say_damage};
use crate::session::Session;
use crate::settings::Settings;

#[derive(Serialize)]
struct Counted {
    name: String,
    /// Of the conversation; exact, message overhead included.
    tokens: Tokens,
    /// The model's own tokens, estimated.
    model_tokens: Option<Tokens>,
    model: Option<String>,
    system_and_tools: Tokens,
    messages: Option<usize>,
    /// What could not be read.
    damaged: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Count, settings: &Settings) -> anyhow::Result<()> {
    let mut counts = Vec::new();
    let mut out = anstream::stdout().lock();
    let mut add = |counted: Counted| -> anyhow::Result<()> {
        say_damage(&counted.name, &counted.damaged);
        if arguments.json {
            serde_json::to_writer(&mut out, &counted)?;
            writeln!(out)?;
        } else {
            counts.push(counted);
        }
        Ok(())
    };
    let outcome = input::each_found(&arguments.input, |sources| match arguments.text {
        true => count_texts(arguments, sources, settings, &mut add),
        false => count_sessions(arguments, sources, settings, &mut add),
    });
    print(&mut out, &counts)?;
    outcome
}

fn count_sessions(
    arguments: &Count,
    sources: &[Source],
    settings: &Settings,
    add: &mut impl FnMut(Counted) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let work = |path: &std::path::Path, transcript| {
        let session = Session::new(path, transcript, arguments.model.as_deref(), settings);
        let beside = session.beside().tokens;
        let tokens = session.sent().tokens - beside;
        Ok(Counted {
            name: session.name.clone(),
            tokens,
            model_tokens: session.model_tokens(tokens),
            model: session.names_model.then(|| session.model.id.to_string()),
            system_and_tools: beside,
            messages: Some(session.main_path().len()),
            damaged: session.damaged(),
        })
    };
    input::each_session(&input::options(&arguments.input), sources, work, |_, item| match item {
        Item::Session(counted) => add(counted),
        _ => Ok(()),
    })
}

fn count_texts(
    arguments: &Count,
    sources: &[Source],
    settings: &Settings,
    add: &mut impl FnMut(Counted) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for Source { path, .. } in sources {
        let mut bytes = Vec::new();
        let read = input::open(path)?.read_to_end(&mut bytes);
        read.map_err(|error| {
            failure(format!("cannot read {}: {error}", path.display()), "check that it is a file of text")
        })?;
        let text = String::from_utf8_lossy(&bytes);
        // Only then is anything replaced.
        let is_replaced = matches!(text, Cow::Owned(_));
        let damaged = is_replaced.then(|| "what is no UTF-8 is counted as \u{fffd}".to_owned());
        let tokens = Bpe::o200k().count(&text);
        let model = arguments.model.as_deref().map(|model| settings.models.get(model).model);
        add(Counted {
            name: path.display().to_string(),
            tokens,
            model_tokens: model
                .as_ref()
                .map(|model| Tokens((tokens.0 as f64 * model.start.ratio).round() as u64)),
            model: model.map(|model| model.id.into_owned()),
            system_and_tools: Tokens::ZERO,
            messages: None,
            damaged: damaged.into_iter().collect(),
        })?;
    }
    Ok(())
}

fn print(out: &mut impl Write, counts: &[Counted]) -> anyhow::Result<()> {
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[
        ("messages", right),
        ("o200k tokens", right),
        ("system, tools", right),
        ("model tokens", right),
        ("model", left),
        ("session", left),
    ]);
    let number = |number: Option<u64>| number.map(grouped).unwrap_or_default();
    for counted in counts {
        table.row([
            number(counted.messages.map(|messages| messages as u64)),
            grouped(counted.tokens.0),
            grouped(counted.system_and_tools.0),
            number(counted.model_tokens.map(|tokens| tokens.0)),
            counted.model.clone().unwrap_or_default(),
            counted.name.clone(),
        ]);
    }
    if counts.len() > 1 {
        let total: Tokens = counts.iter().map(|counted| counted.tokens).sum();
        table.row([
            String::new(),
            grouped(total.0),
            String::new(),
            String::new(),
            String::new(),
            "total".to_owned(),
        ]);
    }
    Ok(write!(out, "{}", table.render())?)
}
