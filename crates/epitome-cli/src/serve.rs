//! `epitome serve`: the proxy in the foreground, until it is told to end.

mod checkup;
mod clients;

use std::collections::HashSet;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use epitome::{Dialect, ModeRoute, Origin, SERVING, ServingSetting, TenantId};
use epitome_server::{
    Config, ForModels, Keeper, Keeping, Line, Listener, Mode, ModeRule, Modes, Server, ServerError, Sessions,
    Source, Tenants, Upstream,
};
use tokio::sync::oneshot;

pub(crate) use self::checkup::run as check_up;
pub(crate) use self::clients::CLIENTS;
use crate::args::Serve;
use crate::fail::{failure, misuse};
use crate::print::{FAINT, HEADING, WARN, paint, say};
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(arguments: &Serve, settings: &Settings) -> anyhow::Result<()> {
    let config = config(settings)?;
    if let Some(name) = &arguments.print_env {
        let client = CLIENTS.iter().find(|client| client.name == name);
        let lines = client.map(|client| client.lines(&root(config.listen))).unwrap_or_default();
        return Ok(write!(io::stdout(), "{lines}")?);
    }
    let modes = modes(settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let is_off = modes.usual == Mode::Off && modes.rules.iter().all(|rule| rule.mode == Mode::Off);
    runtime.block_on(async {
        if is_off {
            return serve(config, None, "nothing is recorded: the mode is off").await;
        }
        let tenants = tenants(settings, &config)?;
        let (sessions, kept) = sessions(arguments, settings, modes, tenants).await?;
        let served = serve(config, Some(Arc::new(sessions.clone())), &kept).await;
        sessions.close().await;
        served
    })
}

// Whoever keeps the sessions of all clients, in the ledger that is named, and what is to be said of that.
async fn sessions(
    arguments: &Serve,
    settings: &Settings,
    modes: Modes,
    tenants: Tenants,
) -> anyhow::Result<(Sessions, String)> {
    let place = crate::shelf::for_server(arguments.db.as_deref())?;
    let mut keeping = Keeping::of(Source::At(place.address.clone()), settings.clone(), place.spool.clone());
    keeping.modes = modes;
    keeping.tenants = tenants;
    let sessions = Sessions::new(keeping).await.map_err(|error| match &error {
        ServerError::Engine(epitome::Error::Ledger(refused)) => crate::shelf::refused(refused, &place.name),
        _ => failure(error, "epitome doctor checks the ledger"),
    })?;
    let (name, spool) = (&place.name, place.spool.display());
    let whose = match tenants {
        Tenants::One => "all of them yours",
        Tenants::Key => "apart for each key",
    };
    if sessions.is_reached() {
        return Ok((sessions, format!("sessions are kept in {name}, {whose}")));
    }
    let away = format!("{name} cannot be reached: calls go up as they are and wait in {spool} until it can");
    say(format_args!("{} {away}", paint(WARN, "warning:")));
    Ok((sessions, format!("sessions will be kept in {name}, {whose}")))
}

// Whose calls are whose, where nobody says so: whoever reaches a proxy on its own machine is its owner.
fn tenants(settings: &Settings, config: &Config) -> anyhow::Result<Tenants> {
    let [.., setting] = SERVING;
    let (name, origin) = settings.serving.get(setting);
    match name {
        "auto" if config.listen.ip().is_loopback() => Ok(Tenants::One),
        "auto" => Ok(Tenants::Key),
        name => name.parse().map_err(|error| misuse(error, format!("tenants is from {origin}"))),
    }
}

// One line a request, and one more where a key is met for the first time.
fn listener() -> Listener {
    let met: Mutex<HashSet<TenantId>> = Mutex::default();
    Arc::new(move |line: &Line| {
        say(line);
        let mut met = met.lock().unwrap_or_else(PoisonError::into_inner);
        if line.tenant != TenantId::LOCAL && met.insert(line.tenant) {
            let hint = format!("sessions of this key: epitome sessions --tenant {}", line.tenant);
            say(paint(FAINT, hint));
        }
    })
}

fn modes(settings: &Settings) -> anyhow::Result<Modes> {
    let [.., setting, _] = SERVING;
    let (name, origin) = settings.serving.get(setting);
    let usual = name.parse().map_err(|error| misuse(error, format!("mode is from {origin}")))?;
    let rule = |route: &ModeRoute| {
        let mode = route.mode.parse().map_err(|error| misuse(error, "see [[route]] in epitome.toml"))?;
        Ok(ModeRule { path: route.path.clone(), key: route.key.clone(), mode })
    };
    let rules = settings.serving.routes().iter().map(rule).collect::<anyhow::Result<_>>()?;
    Ok(Modes { usual, rules })
}

async fn serve(config: Config, keeper: Option<Arc<dyn Keeper>>, kept: &str) -> anyhow::Result<()> {
    let upstreams = config.upstreams.clone();
    let server = Server::bind(config, keeper).await.map_err(|error| match error {
        ServerError::Bind { .. } => failure(error, "choose another address with --listen"),
        error => failure(error, ""),
    })?;
    let server = server.telling(listener());
    let root = root(server.addr());
    say(format_args!("{} {root}", paint(HEADING, "listening on")));
    say(format_args!(
        "  ANTHROPIC_BASE_URL={root}     {}",
        paint(FAINT, format!("to {}", upstreams.anthropic))
    ));
    say(format_args!("  OPENAI_BASE_URL={root}/v1     {}", paint(FAINT, format!("to {}", upstreams.openai))));
    for one in &upstreams.models {
        say(format_args!("  {} {}", one.model, paint(FAINT, format!("to {}", one.upstream))));
    }
    say(paint(FAINT, kept));
    say(paint(FAINT, "epitome serve --print-env CLIENT prints what to paste; ctrl-c ends"));
    if !server.addr().ip().is_loopback() {
        let open = "whoever reaches this address can use the proxy";
        say(format_args!("{} {open}", paint(WARN, "warning:")));
    }
    until_told(server).await
}

// Once for an end after what is under way, twice for one at once.
async fn until_told(server: Server) -> anyhow::Result<()> {
    let (stop, stopped) = oneshot::channel();
    let mut serving = std::pin::pin!(server.serve(async {
        let _ = stopped.await;
    }));
    tokio::select! {
        () = &mut serving => return Ok(()),
        told = told() => told?,
    }
    let _ = stop.send(());
    say("ending after what is under way; ctrl-c again ends at once");
    tokio::select! {
        () = serving => Ok(()),
        told = told() => Ok(told?),
    }
}

#[cfg(unix)]
async fn told() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminated.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn told() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}

fn config(settings: &Settings) -> anyhow::Result<Config> {
    let [listen, anthropic, openai, ..] = SERVING;
    let mut config = Config::default();
    let (address, origin) = settings.serving.get(listen);
    config.listen = address.parse().map_err(|_| {
        misuse(format!("listen = {address} ({origin}) is no address"), "write 127.0.0.1:8484")
    })?;
    config.upstreams.anthropic = upstream(settings, anthropic)?;
    config.upstreams.openai = upstream(settings, openai)?;
    for one in settings.serving.upstreams() {
        let upstream = one.url.parse().map_err(|error| misuse(error, "see [[upstream]] in epitome.toml"))?;
        let dialect = one.dialect.as_deref().map(dialect).transpose()?;
        config.upstreams.models.push(ForModels { model: one.model.clone(), dialect, upstream });
    }
    Ok(config)
}

fn upstream(settings: &Settings, setting: ServingSetting) -> anyhow::Result<Upstream> {
    let (url, origin) = settings.serving.get(setting);
    let from = match origin {
        Origin::Flag => format!("--{}", setting.name.replace('_', "-")),
        other => format!("{} from {other}", setting.name),
    };
    url.parse().map_err(|error| misuse(error, format!("{from} wants a URL such as {}", setting.default)))
}

fn dialect(name: &str) -> anyhow::Result<Dialect> {
    match name {
        "anthropic" => Ok(Dialect::Anthropic),
        "chat" => Ok(Dialect::Chat),
        "responses" => Ok(Dialect::Responses),
        _ => Err(misuse(
            format!("dialect = {name:?} of an [[upstream]] is not known"),
            "write anthropic, chat or responses",
        )),
    }
}

// Where clients of this machine find it.
fn root(listen: SocketAddr) -> String {
    let mut address = listen;
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("http://{address}")
}
