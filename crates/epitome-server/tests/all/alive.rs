//! Upstreams whose connection died without a word, and those that are only silent.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::support::{Proxy, run};
use crate::versions::certify;
use crate::wire::post;

const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACKNOWLEDGED: u8 = 1;

/// The server's end of a connection of HTTP/2, frame by frame.
struct Frames(TlsStream<TcpStream>);

impl Frames {
    async fn accept(listener: &TcpListener, folder: &Path) -> Self {
        let certificate = CertificateDer::from(fs::read(folder.join("server.der")).unwrap());
        let key = PrivateKeyDer::try_from(fs::read(folder.join("server-key.der")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let (stream, _) = listener.accept().await.unwrap();
        let mut frames = Self(TlsAcceptor::from(Arc::new(config)).accept(stream).await.unwrap());
        let mut preface = [0; 24];
        frames.0.read_exact(&mut preface).await.unwrap();
        frames.send(SETTINGS, 0, 0, &[]).await;
        frames
    }

    async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame).await.unwrap();
        self.0.flush().await.unwrap();
    }

    /// Kind, flags, stream and payload of the next one; none where the connection ended.
    async fn next(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.0.read_exact(&mut payload).await.ok()?;
        Some((kind, flags, u32::from_be_bytes(stream), payload))
    }
}

async fn asking(folder: &Path) -> (Proxy, TcpListener) {
    certify(folder);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let proxy = Proxy::configured(None, |config| {
        config.upstreams.anthropic = format!("https://localhost:{port}").parse().unwrap();
        config.trusted = vec![fs::read(folder.join("ca.der")).unwrap()];
        config.limits.ping = Duration::from_millis(100);
    })
    .await;
    (proxy, listener)
}

#[test]
fn a_connection_of_http_2_that_died_is_given_up_long_before_a_model_would_be() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let (proxy, listener) = asking(folder.path()).await;
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "[1]")).await;
        let mut upstream = Frames::accept(&listener, folder.path()).await;
        // It reads everything and answers nothing, as if what it says were lost on the way.
        while upstream.next().await.is_some() {}
        let back = client.message().await;
        assert!(back.line().starts_with("HTTP/1.1 502"), "{}", back.head);
        assert_eq!(back.header("x-should-retry"), Some("true"));
    });
}

#[test]
fn a_model_that_thinks_in_silence_is_waited_for() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let (proxy, listener) = asking(folder.path()).await;
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "[1]")).await;
        let mut upstream = Frames::accept(&listener, folder.path()).await;
        let (mut asked, mut call) = (0, 0);
        // Several times as long as a connection may leave a question unanswered.
        while asked < 5 || call == 0 {
            let (kind, flags, stream, payload) = upstream.next().await.expect("it is waited for");
            match kind {
                HEADERS => call = stream,
                SETTINGS if flags != ACKNOWLEDGED => upstream.send(SETTINGS, ACKNOWLEDGED, 0, &[]).await,
                PING if flags != ACKNOWLEDGED => {
                    asked += 1;
                    upstream.send(PING, ACKNOWLEDGED, 0, &payload).await;
                }
                _ => {}
            }
        }
        // End of the stream and of the headers; the status 200, as the table of HPACK has it.
        upstream.send(HEADERS, 0x5, call, &[0x88]).await;
        assert_eq!(client.message().await.line(), "HTTP/1.1 200 OK");
    });
}
