//! Connections to upstreams: kept and used again, HTTP/2 where the server speaks it, TLS by the roots of the system.

use std::error::Error;
use std::sync::Arc;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::config::Config;
use crate::error::ServerError;
use crate::upload::Upload;

/// After so many questions of the operating system without an answer a connection is dead.
const UNANSWERED: u32 = 3;

/// What sends requests up.
pub(crate) type HttpClient = Client<HttpsConnector<HttpConnector>, Upload>;

/// With connections of HTTP/1.1 alone, which can become something else.
pub(crate) fn upgrading(config: &Config) -> Result<HttpClient, ServerError> {
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls(config)?).https_or_http();
    Ok(builder(config).build(connector.enable_http1().wrap_connector(http(config))))
}

/// With connections of whatever version the upstream speaks.
pub(crate) fn new(config: &Config) -> Result<HttpClient, ServerError> {
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls(config)?).https_or_http();
    Ok(builder(config).build(connector.enable_all_versions().wrap_connector(http(config))))
}

// A peer that vanished, because a machine slept or a router forgot the connection, never says so. The operating system asks for it, on
// connections that rest as on those that wait: it answers there whatever its server is doing, so that a model may think for as long as it
// likes. Where we have sent something, nobody asks; then the time counts until that is acknowledged.
fn http(config: &Config) -> HttpConnector {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(config.limits.connect));
    let ping = config.limits.ping;
    http.set_keepalive(Some(ping));
    http.set_keepalive_interval(Some(ping));
    http.set_keepalive_retries(Some(UNANSWERED));
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    http.set_tcp_user_timeout(Some(ping * (UNANSWERED + 1)));
    http
}

fn builder(config: &Config) -> Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .pool_idle_timeout(config.limits.kept)
        .http1_preserve_header_case(true)
        // All calls share one connection of HTTP/2, so that a dead one would hold all of them up. Its pings are answered by the server's
        // connection and not by the model.
        .http2_keep_alive_interval(config.limits.ping)
        .http2_keep_alive_timeout(config.limits.ping)
        .http2_keep_alive_while_idle(true)
        .http2_adaptive_window(true);
    builder
}

fn tls(config: &Config) -> Result<ClientConfig, ServerError> {
    let mut roots = RootCertStore::empty();
    // A certificate that cannot be read is one server less; without any, the handshake says so.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots.add_parsable_certificates(config.trusted.iter().cloned().map(CertificateDer::from));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// What an error comes down to: its innermost cause says what the outer ones only surround.
pub(crate) fn cause(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    innermost.to_string()
}
