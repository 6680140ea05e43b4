//! HTTP/2 on either side, and TLS to upstreams.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use epitome_server::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::support::{Proxy, run};
use crate::wire::{answer, chunk, post};

const EXTENSIONS: &str = "[ca]\nbasicConstraints=critical,CA:TRUE\n[server]\nbasicConstraints=critical,CA:FALSE\nsubjectAltName=DNS:localhost\n";

fn openssl(folder: &Path, arguments: &[&str]) {
    let output = Command::new("openssl").args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Somebody who certifies, and a server whom they certified for the name `localhost`.
pub(crate) fn certify(folder: &Path) {
    fs::write(folder.join("extensions"), EXTENSIONS).unwrap();
    for (name, subject) in [("ca", "/CN=tests of epitome"), ("server", "/CN=localhost")] {
        let (key, request) = (format!("{name}.key"), format!("{name}.csr"));
        let made = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout";
        let mut arguments: Vec<&str> = made.split(' ').collect();
        arguments.extend([key.as_str(), "-out", &request, "-subj", subject]);
        openssl(folder, &arguments);
    }
    for line in [
        "x509 -req -in ca.csr -signkey ca.key -days 2 -extfile extensions -extensions ca -out ca.crt",
        "x509 -in ca.crt -outform DER -out ca.der",
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -extensions server -outform DER -out server.der",
        "pkcs8 -topk8 -nocrypt -in server.key -outform DER -out server-key.der",
    ] {
        openssl(folder, &line.split(' ').collect::<Vec<_>>());
    }
}

/// An upstream with TLS that speaks these protocols, says which was spoken, and counts its connections.
async fn encrypted(folder: &Path, protocols: &[&str]) -> (u16, Arc<AtomicUsize>) {
    let certificate = CertificateDer::from(fs::read(folder.join("server.der")).unwrap());
    let key = PrivateKeyDer::try_from(fs::read(folder.join("server-key.der")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let builder = Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(TokioIo::new(stream), service_fn(told)).await;
            });
        }
    });
    (port, connections)
}

async fn told(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let host = request.headers().get("host").map(|host| host.to_str().unwrap().to_owned());
    let authority = request.uri().authority().map(ToString::to_string);
    let version = request.version();
    let body = request.into_body().collect().await?.to_bytes();
    let said = format!("{version:?} {} {}", host.or(authority).unwrap(), String::from_utf8_lossy(&body));
    Ok(Response::new(Full::new(said.into())))
}

#[test]
fn upstreams_with_tls_are_spoken_to_in_the_version_they_prefer() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        certify(folder.path());
        for (protocols, version) in [(["h2", "http/1.1"].as_slice(), "HTTP/2.0"), (&["http/1.1"], "HTTP/1.1")]
        {
            let (port, connections) = encrypted(folder.path(), protocols).await;
            let proxy = Proxy::configured(None, |config| {
                config.upstreams.anthropic = format!("https://localhost:{port}").parse().unwrap();
                config.trusted = vec![fs::read(folder.path().join("ca.der")).unwrap()];
            })
            .await;
            let mut client = proxy.client().await;
            for _ in 0..3 {
                client.send(post("/v1/messages", "[1]")).await;
                let back = client.message().await;
                assert_eq!(back.line(), "HTTP/1.1 200 OK");
                assert_eq!(String::from_utf8(back.body).unwrap(), format!("{version} localhost:{port} [1]"));
            }
            assert_eq!(connections.load(Ordering::Relaxed), 1, "one connection serves all");
        }
    });
}

#[test]
fn an_upstream_whose_certificate_nobody_trusts_is_not_spoken_to() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        certify(folder.path());
        let (port, _) = encrypted(folder.path(), &["h2"]).await;
        let proxy = Proxy::configured(None, |config| {
            config.upstreams.anthropic = format!("https://localhost:{port}").parse().unwrap();
        })
        .await;
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "[1]")).await;
        let back = client.message().await;
        assert!(back.line().starts_with("HTTP/1.1 502"), "{}", back.head);
        let message = back.json()["error"]["message"].as_str().unwrap().to_lowercase();
        assert!(message.contains("certificate"), "{message}");
    });
}

type Sender = hyper::client::conn::http2::SendRequest<Full<Bytes>>;

/// A client that speaks HTTP/2 without TLS.
async fn modern(proxy: &Proxy) -> Sender {
    let stream = TcpStream::connect(proxy.addr).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn request(body: &'static str) -> Request<Full<Bytes>> {
    let builder = Request::post("http://proxy/v1/messages?beta=true").header("x-api-key", "k");
    builder.body(Full::new(body.into())).unwrap()
}

#[test]
fn clients_may_speak_http_2() {
    run(async {
        let proxy = Proxy::start(Some(crate::keepers::unchanged())).await;
        let mut client = modern(&proxy).await;
        let sent = client.send_request(request("[1]"));
        let mut upstream = proxy.upstream().await;
        let got = upstream.message().await;
        assert_eq!(got.line(), "POST /v1/messages?beta=true HTTP/1.1");
        assert_eq!(got.header("host"), Some(proxy.upstream_addr().to_string().as_str()));
        assert_eq!((got.header("x-api-key"), got.body.as_slice()), (Some("k"), b"[1]".as_slice()));
        upstream.send(answer("200 OK", "{}")).await;
        let back = sent.await.unwrap();
        assert_eq!((back.version(), back.status().as_u16()), (Version::HTTP_2, 200));
        assert_eq!(back.into_body().collect().await.unwrap().to_bytes(), "{}");
    });
}

#[test]
fn a_stream_of_http_2_that_is_given_up_ends_its_upstream_request_and_no_other() {
    run(async {
        let proxy = Proxy::start(Some(crate::keepers::unchanged())).await;
        let mut client = modern(&proxy).await;
        let given_up = client.send_request(request("[1]"));
        let mut first = proxy.upstream().await;
        first.message().await;
        let kept = client.send_request(request("[2]"));
        let mut second = proxy.upstream().await;
        second.message().await;
        drop(given_up);
        first.gone().await;
        second.send(answer("200 OK", "{}")).await;
        assert_eq!(kept.await.unwrap().status(), 200);
    });
}

#[test]
fn a_stream_of_http_2_whose_upstream_breaks_off_is_reset() {
    run(async {
        let proxy = Proxy::start(None).await;
        let mut client = modern(&proxy).await;
        let sent = client.send_request(request("[1]"));
        let mut upstream = proxy.upstream().await;
        upstream.message().await;
        upstream.send(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", chunk("one"))).await;
        let mut body = sent.await.unwrap().into_body();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "one");
        drop(upstream);
        assert!(body.frame().await.unwrap().is_err(), "it must not look whole");
    });
}
