//! `epitome doctor --upstream`: whether `epitome serve` would work as it is set up, a line each, and what to fix.

use std::env;
use std::path::Path;

use epitome_core::models::Warning;
use epitome_ledger::{Access, Ledger, LedgerError, Options};
use epitome_server::{Checkup, Config, Finding, Provider, State};
use serde_json::json;

use crate::args::Doctor;
use crate::fail::failure;
use crate::print::{BAD, FAINT, GOOD, WARN, paint, plural};
use crate::settings::Settings;
use crate::shelf::{ForServer, of_server};

/// So many names are shown of a list.
const SHOWN: usize = 5;

/// Runs the command.
pub(crate) fn run(arguments: &Doctor, settings: &Settings) -> anyhow::Result<()> {
    let config = super::config(settings)?;
    let place = of_server(arguments.database.db.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(findings(config, &place, settings))?;
    if arguments.json {
        let told = findings.iter().map(|finding| {
            json!({
                "subject": finding.subject, "state": finding.state.to_string(), "seen": finding.seen,
                "hint": finding.hint,
            })
        });
        println!("{}", json!({"findings": told.collect::<Vec<_>>()}));
    } else {
        findings.iter().for_each(print);
    }
    match findings.iter().filter(|finding| finding.state == State::Wrong).count() {
        0 => Ok(()),
        count => Err(failure(
            format!("{} to be put right before epitome serve works as it should", plural(count, "thing")),
            "each line above says what to do",
        )),
    }
}

fn print(finding: &Finding) {
    let style = match finding.state {
        State::Good => GOOD,
        State::Note => WARN,
        State::Wrong => BAD,
    };
    let state = paint(style, format!("{}:", finding.state));
    anstream::println!("{state} {}: {}", finding.subject, finding.seen);
    if let Some(hint) = &finding.hint {
        anstream::println!("  {} {hint}", paint(FAINT, "hint:"));
    }
}

async fn findings(config: Config, place: &ForServer, settings: &Settings) -> anyhow::Result<Vec<Finding>> {
    let listen = config.listen;
    let upstreams = config.upstreams.clone();
    let checkup = Checkup::new(config).map_err(|error| failure(error, ""))?;
    let mut findings = vec![checkup.listening().await, database(place).await, spool(&place.spool)];
    findings.extend(base_urls(&super::root(listen), |name| env::var(name).ok()));
    let mut all = vec![
        ("anthropic_upstream".to_owned(), &upstreams.anthropic, Provider::Anthropic),
        ("openai_upstream".to_owned(), &upstreams.openai, Provider::OpenAi),
    ];
    for one in &upstreams.models {
        let provider = one.dialect.map_or(Provider::OpenAi, Provider::of);
        all.push((format!("upstream of {}", one.model), &one.upstream, provider));
    }
    let mut models = Vec::new();
    for (subject, upstream, provider) in all {
        // A key is the provider's own: it is shown to no other server.
        let own = epitome_server::Upstream::default_of(provider);
        let variable = match provider {
            Provider::Anthropic => "ANTHROPIC_API_KEY",
            Provider::OpenAi => "OPENAI_API_KEY",
        };
        let is_own = upstream.host() == own.host();
        let key = env::var(variable).ok().filter(|key| is_own && !key.is_empty());
        let checked = checkup.upstream(&subject, upstream, provider, key.as_deref()).await;
        findings.extend(checked.findings);
        models.extend(checked.models);
    }
    let named =
        upstreams.models.iter().map(|one| one.model.clone()).filter(|name| !name.contains(['*', '?']));
    models.extend(named);
    findings.extend(windows(models, settings));
    Ok(findings)
}

async fn database(place: &ForServer) -> Finding {
    let subject = "database";
    let name = &place.name;
    let options = Options { access: Access::ReadOnly, ..Options::default() };
    match Ledger::open(&place.address, options).await {
        Ok(ledger) => {
            ledger.close().await;
            Finding::good(subject, format!("{name} is a ledger"))
        }
        Err(LedgerError::NoLedger(_)) => Finding::good(subject, format!("{name} is begun by epitome serve")),
        Err(LedgerError::OlderSchema { .. }) => {
            Finding::good(subject, format!("{name} is brought up by epitome serve"))
        }
        // A file that is not there is made.
        Err(_) if is_missing_file(&place.address) => {
            Finding::good(subject, format!("{name} is begun by epitome serve"))
        }
        Err(error) => Finding::wrong(
            subject,
            format!("{name}: {error}"),
            "check that the server runs and that --db or EPITOME_DB names it rightly; until then calls wait on disk",
        ),
    }
}

fn is_missing_file(address: &str) -> bool {
    address.strip_prefix("sqlite:").is_some_and(|path| !Path::new(path).exists())
}

fn spool(folder: &Path) -> Finding {
    let (subject, shown) = ("spool", folder.display());
    let files = std::fs::read_dir(folder).map(|files| {
        let names = files.filter_map(Result::ok).map(|file| file.path());
        names.filter_map(|path| Some(path.extension()?.to_str()?.to_owned())).collect::<Vec<_>>()
    });
    let files = files.unwrap_or_default();
    let count = |kinds: &[&str]| files.iter().filter(|kind| kinds.contains(&kind.as_str())).count();
    let (waiting, aside) = (count(&["json", "taken", "cut"]), count(&["unreadable"]));
    if aside > 0 {
        let seen = format!("{} in {shown} cannot be recorded", plural(aside, "turn"));
        return Finding::wrong(
            subject,
            seen,
            "the files named .unreadable hold them; epitome serve said why",
        );
    }
    match waiting {
        0 => Finding::good(subject, "nothing waits to be recorded"),
        count => Finding::note(
            subject,
            format!("{} in {shown} wait to be recorded", plural(count, "turn")),
            "epitome serve records them when the database can be reached",
        ),
    }
}

// What clients of this machine were told, if they were.
fn base_urls(root: &str, variable: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let wanted = [("ANTHROPIC_BASE_URL", root.to_owned()), ("OPENAI_BASE_URL", format!("{root}/v1"))];
    for (name, wanted) in wanted {
        let Some(told) = variable(name).filter(|told| !told.is_empty()) else { continue };
        let plain = told.trim_end_matches('/').replace("localhost", "127.0.0.1");
        let is_ours = plain.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        findings.push(match (plain == wanted, is_ours) {
            (true, _) => Finding::good(name, format!("{told} points at epitome")),
            (false, true) => Finding::wrong(
                name,
                format!("{told} leads to paths that nobody answers"),
                format!("export {name}={wanted}"),
            ),
            (false, false) => Finding::note(
                name,
                format!("{told} does not point at epitome"),
                format!("export {name}={wanted} for clients that are to use it"),
            ),
        });
    }
    findings
}

fn windows(mut models: Vec<String>, settings: &Settings) -> Option<Finding> {
    models.sort_unstable();
    models.dedup();
    let is_unknown =
        |model: &&String| matches!(settings.models.get(model).warning, Some(Warning::Unknown { .. }));
    let unknown: Vec<&str> = models.iter().filter(is_unknown).map(String::as_str).collect();
    if models.is_empty() {
        return None;
    }
    if unknown.is_empty() {
        return Some(Finding::good("models", format!("the windows of all {} are known", models.len())));
    }
    let more = unknown.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = unknown.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    Some(Finding::note(
        "models",
        format!("the windows of {} of {} are not known: {shown}{more}", unknown.len(), models.len()),
        "a guess that is safe is used, and what their servers say is learnt; [models.NAME] in epitome.toml says more",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_of_clients_are_judged() {
        let root = "http://127.0.0.1:8484";
        let cases = [
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8484", State::Good),
            ("ANTHROPIC_BASE_URL", "http://localhost:8484/", State::Good),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8484/v1", State::Wrong),
            ("ANTHROPIC_BASE_URL", "https://api.anthropic.com", State::Note),
            ("OPENAI_BASE_URL", "http://127.0.0.1:8484/v1", State::Good),
            ("OPENAI_BASE_URL", "http://127.0.0.1:8484", State::Wrong),
            ("OPENAI_BASE_URL", "http://127.0.0.1:8484/v1/v1", State::Wrong),
            ("OPENAI_BASE_URL", "http://127.0.0.1:84840/v1", State::Note),
        ];
        for (name, told, state) in cases {
            let found = base_urls(root, |asked| (asked == name).then(|| told.to_owned()));
            assert_eq!(
                found.iter().map(|finding| finding.state).collect::<Vec<_>>(),
                [state],
                "{name}={told}"
            );
        }
    }
}
