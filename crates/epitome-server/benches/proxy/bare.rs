//! The limit: hyper in, hyper out, bodies untouched, headers as they come.

use std::net::SocketAddr;

use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

type Up = Client<HttpConnector, Incoming>;

pub(crate) async fn start(upstream: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Up = Client::builder(TokioExecutor::new()).build(connector);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            let client = client.clone();
            let service = service_fn(move |request| pass(client.clone(), upstream, request));
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    address
}

async fn pass(
    client: Up,
    upstream: SocketAddr,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
    let path = request.uri().path_and_query().unwrap().clone();
    let target = Uri::builder().scheme("http").authority(upstream.to_string()).path_and_query(path);
    *request.uri_mut() = target.build().unwrap();
    client.request(request).await
}
