//! TLS to PostgreSQL, as its own client does it: `sslmode` and `sslrootcert` in the address.
//!
//! | `sslmode` | encrypted | who the server is |
//! |---|---|---|
//! | `disable` | never | unknown |
//! | `prefer`, where nothing is said | where the server can | unknown |
//! | `require` | always | checked where `sslrootcert` is given, but for its name |
//! | `verify-ca` | always | checked, but for its name |
//! | `verify-full` | always | checked |
//!
//! Certificates are checked against the file that `sslrootcert` names, or against those that the system trusts.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::ready::Naming;
use super::trust::Lenient;
use crate::error::{LedgerError, Result};

/// How far a server is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Anybody,
    Certified,
    CertifiedByName,
}

/// An address without what concerns certificates and poolers, and what that was.
pub(super) struct Address {
    pub(super) url: String,
    pub(super) naming: Naming,
    trust: Trust,
    roots: Option<PathBuf>,
}

impl Address {
    /// Takes apart what the driver does not understand.
    pub(super) fn parse(url: &str) -> Self {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut trust, mut roots, mut rest) = (Trust::Anybody, None, Vec::new());
        let mut naming = Naming::Named;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", "verify-ca")) => trust = Trust::Certified,
                Some(("sslmode", "verify-full")) => trust = Trust::CertifiedByName,
                Some(("sslrootcert", path)) => roots = Some(PathBuf::from(plain(path))),
                Some(("prepared_statements", "false")) => naming = Naming::Unnamed,
                Some(("prepared_statements", "true")) => naming = Naming::Named,
                _ => rest.push(pair),
            }
        }
        if trust != Trust::Anybody {
            rest.push("sslmode=require");
        } else if roots.is_some() {
            trust = Trust::Certified;
        }
        let url = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        Self { url, naming, trust, roots }
    }

    /// What makes connections to it secure.
    pub(super) fn tls(&self) -> Result<Tls> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| LedgerError::Unavailable(format!("no TLS: {error}")))?;
        let config = match self.trust {
            Trust::CertifiedByName => builder.with_root_certificates(self.roots()?).with_no_client_auth(),
            Trust::Certified => {
                let roots = Some(self.verifier(&provider)?);
                let lenient = Arc::new(Lenient { roots, provider });
                builder.dangerous().with_custom_certificate_verifier(lenient).with_no_client_auth()
            }
            Trust::Anybody => {
                let lenient = Arc::new(Lenient { roots: None, provider });
                builder.dangerous().with_custom_certificate_verifier(lenient).with_no_client_auth()
            }
        };
        Ok(Tls(TlsConnector::from(Arc::new(config))))
    }

    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>> {
        let roots = Arc::new(self.roots()?);
        let built = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider)).build();
        built.map_err(|error| LedgerError::Unavailable(format!("no certificates to trust: {error}")))
    }

    fn roots(&self) -> Result<RootCertStore> {
        let mut store = RootCertStore::empty();
        let Some(path) = &self.roots else {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            return Ok(store);
        };
        let unreadable = |error: &dyn std::fmt::Display| {
            LedgerError::Unavailable(format!(
                "the certificates in {} cannot be read: {error}",
                path.display()
            ))
        };
        for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unreadable(&error))? {
            let certificate = certificate.map_err(|error| unreadable(&error))?;
            store.add(certificate).map_err(|error| unreadable(&error))?;
        }
        Ok(store)
    }
}

// Values in a URL have `%2F` for `/` and their like.
fn plain(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let code = behind.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Makes secure connections.
#[derive(Clone)]
pub(super) struct Tls(TlsConnector);

/// A secure connection that is about to be made.
pub(super) struct Handshake {
    connector: TlsConnector,
    name: ServerName<'static>,
}

/// A secure connection.
pub(super) struct Secure<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Secure<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Handshake> {
        let name = ServerName::try_from(domain.to_owned()).map_err(io::Error::other)?;
        Ok(Handshake { connector: self.0.clone(), name })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Secure<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secure<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { self.connector.connect(self.name, stream).await.map(Secure) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Secure<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Secure<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Secure<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
