//! Connections that become something else, such as WebSockets: the request and its answer pass, and then every byte both ways.

use http::header::{CONNECTION, UPGRADE};
use http::{Extensions, HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_util::sync::CancellationToken;

/// Whether a client wants to go on in another protocol, which only HTTP/1.1 can.
pub(crate) fn is_wanted(request: &Request<Incoming>) -> bool {
    let headers = request.headers();
    let listed = |value: &HeaderValue| {
        let names = value.to_str().unwrap_or_default().split(',');
        names.map(str::trim).any(|name| name.eq_ignore_ascii_case("upgrade"))
    };
    request.version() == Version::HTTP_11
        && headers.contains_key(UPGRADE)
        && headers.get_all(CONNECTION).iter().any(listed)
}

/// What is said of the other protocol, which is taken off every other message.
pub(crate) struct Wish(Vec<HeaderValue>);

impl Wish {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self(headers.get_all(UPGRADE).iter().cloned().collect())
    }

    /// Says it again.
    pub(crate) fn put(self, headers: &mut HeaderMap) {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        for protocol in self.0 {
            headers.append(UPGRADE, protocol);
        }
    }
}

/// Whether an upstream goes along.
pub(crate) fn is_agreed(response: &Response<Incoming>) -> bool {
    response.status() == StatusCode::SWITCHING_PROTOCOLS
}

/// The side of a request or an answer that becomes something else.
pub(crate) fn side(extensions: &mut Extensions) -> Option<OnUpgrade> {
    extensions.remove::<OnUpgrade>()
}

/// Carries every byte both ways until one side ends, or the server does.
pub(crate) async fn run(client: OnUpgrade, upstream: OnUpgrade, ending: CancellationToken) {
    let (client, upstream) = match tokio::try_join!(client, upstream) {
        Ok(both) => both,
        Err(error) => return tracing::warn!(%error, "a connection did not become what was agreed"),
    };
    let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
    tokio::select! {
        // How it ends is between the two sides.
        _ = tokio::io::copy_bidirectional(&mut client, &mut upstream) => {}
        () = ending.cancelled() => {}
    }
}
