//! Which headers go on, and in which order: all but those that speak of one connection, as they came.

use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};

use crate::upstream::Upstream;

/// What speaks of a connection, not of a message.
const OF_CONNECTIONS: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// What holds of the bytes that the client sent, and of no others.
const OF_BYTES: [HeaderName; 4] = [
    CONTENT_ENCODING,
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("digest"),
];

/// The headers of an answer that go back to the client.
pub(crate) fn back(headers: HeaderMap) -> HeaderMap {
    if OF_CONNECTIONS.iter().any(|name| headers.contains_key(name)) {
        without_connection(headers, |_| false)
    } else {
        headers
    }
}

/// The headers of a request that go up to this upstream.
pub(crate) fn up(headers: HeaderMap, upstream: &Upstream) -> HeaderMap {
    // Over TLS, HTTP/2 may be spoken, which has no such header; where it is not, the client library adds it.
    let hosted = upstream.is_plain();
    // Whoever expects to be asked for the body has been asked by us.
    let mut kept = without_connection(headers, |name| *name == EXPECT || (*name == HOST && !hosted));
    if hosted && let Ok(host) = HeaderValue::from_str(upstream.host().as_str()) {
        kept.insert(HOST, host);
    }
    kept
}

/// The same, for a body of this many bytes in place of the client's.
pub(crate) fn for_another_body(headers: HeaderMap, length: usize) -> HeaderMap {
    let mut kept = without(headers, |name| OF_BYTES.contains(name));
    kept.insert(CONTENT_LENGTH, length.into());
    kept
}

/// Sets every header of `more`.
pub(crate) fn set(headers: &mut HeaderMap, more: &HeaderMap) {
    for name in more.keys() {
        headers.remove(name);
        for value in more.get_all(name) {
            headers.append(name.clone(), value.clone());
        }
    }
}

fn without_connection(headers: HeaderMap, also: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let listed: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    without(headers, |name| OF_CONNECTIONS.contains(name) || listed.contains(name) || also(name))
}

// Built anew, because removing from a map puts its last header in the gap.
fn without(headers: HeaderMap, dropped: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let mut kept = HeaderMap::with_capacity(headers.len());
    let mut current = None;
    for (name, value) in headers {
        if let Some(name) = name {
            current = (!dropped(&name)).then_some(name);
        }
        if let Some(name) = &current {
            kept.append(name, value);
        }
    }
    kept
}
