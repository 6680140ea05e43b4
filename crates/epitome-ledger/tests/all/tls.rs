//! TLS to PostgreSQL: a server with a certificate of its own, and clients that trust it more or less.

use std::fs;
use std::path::Path;
use std::process::Command;

use epitome_ledger::{Ledger, LedgerError, Options};

use crate::server::{Server, psql};
use crate::support::*;

const EXTENSIONS: &str = "[ca]\nbasicConstraints=critical,CA:TRUE\n[server]\nbasicConstraints=critical,CA:FALSE\nsubjectAltName=DNS:localhost\n";

fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Somebody who certifies, and a server whom they certified for the name `localhost`.
fn certify(folder: &Path) {
    fs::write(folder.join("extensions"), EXTENSIONS).unwrap();
    for (name, subject) in [("ca", "/CN=tests of epitome"), ("server", "/CN=localhost")] {
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj";
        let made = Command::new("openssl")
            .arg("req")
            .args(key.split(' '))
            .args([subject, "-keyout", &format!("{name}.key"), "-out", &format!("{name}.csr")])
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    openssl(
        folder,
        "x509 -req -in ca.csr -signkey ca.key -days 2 -extfile extensions -extensions ca -out ca.crt",
    );
    openssl(
        folder,
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -extensions server -out server.crt",
    );
}

/// Opens the ledger at the address and says whether that was encrypted, or why it was refused.
fn open(address: &str, query: &str) -> Result<bool, LedgerError> {
    run(async {
        let ledger = Ledger::open(&format!("{address}{query}"), Options::default()).await?;
        let session = open_session(&ledger).await;
        talk(&ledger, &session, 0..2).await;
        let text = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
             WHERE s.ssl AND a.datname = current_database() AND a.pid <> pg_backend_pid()";
        let count = psql(&format!("{address}?sslmode=disable"), text);
        ledger.close().await;
        Ok(count.trim() != "0")
    })
}

#[test]
fn a_server_is_trusted_as_far_as_it_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    certify(folder.path());
    let server = Server::start_secure(&folder.path().join("server.crt"), &folder.path().join("server.key"));
    let address = server.database();
    let by_name = address.replace("127.0.0.1", "localhost");
    let roots = format!("sslrootcert={}", folder.path().join("ca.crt").display()).replace('/', "%2F");
    assert!(open(&address, "").unwrap(), "where the server can, it is encrypted");
    assert!(!open(&address, "?sslmode=disable").unwrap());
    assert!(open(&address, "?sslmode=require").unwrap());
    assert!(open(&address, &format!("?sslmode=require&{roots}")).unwrap());
    assert!(open(&address, &format!("?sslmode=verify-ca&{roots}")).unwrap());
    assert!(open(&by_name, &format!("?sslmode=verify-full&{roots}")).unwrap());
    let strangers = ["?sslmode=verify-ca", "?sslmode=verify-full", &format!("?sslmode=verify-full&{roots}")];
    for query in strangers {
        let refused = open(&address, query).unwrap_err();
        assert!(matches!(refused, LedgerError::Unavailable(_)), "{query}: {refused:?}");
        assert!(refused.to_string().contains("certificate"), "{query}: {refused}");
    }
    let nowhere = open(&address, "?sslmode=verify-full&sslrootcert=/nonexistent").unwrap_err();
    assert!(nowhere.to_string().contains("/nonexistent"), "{nowhere}");
    assert!(matches!(open(&address, "?sslmode=maybe"), Err(LedgerError::BadAddress(_))));
}

#[test]
fn a_server_without_a_certificate_is_refused_where_one_is_asked_for() {
    let address = Place::postgres().address;
    assert!(!open(&address, "?sslmode=prefer").unwrap());
    let refused = open(&address, "?sslmode=require").unwrap_err();
    assert!(refused.to_string().contains("TLS"), "{refused}");
}
