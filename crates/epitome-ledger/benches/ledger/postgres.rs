//! An append on PostgreSQL, beside a bare insert of the same bytes by the same driver.

use epitome_ledger::model::{NewSession, TenantId};
use epitome_ledger::{Ledger, Options};

use crate::append::one;
use crate::server::Server;
use crate::words::Words;
use crate::{Times, time};

pub(crate) async fn run() {
    let server = Server::start();
    let address = server.database();
    let ledger = Ledger::open(&address, Options::default()).await.unwrap();
    let mut session = ledger.create_session(TenantId::LOCAL, NewSession::of("agent")).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client
        .batch_execute("CREATE TABLE bare (key BIGSERIAL PRIMARY KEY, bytes BYTEA NOT NULL)")
        .await
        .unwrap();
    let insert = client.prepare("INSERT INTO bare (bytes) VALUES ($1)").await.unwrap();
    let mut words = Words(7);
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..1000 {
        let bytes = words.text(280).into_bytes();
        let (took, inserted) = time(client.execute(&insert, &[&bytes])).await;
        inserted.unwrap();
        bare.push(took);
        ours.push(one(&ledger, &mut session, &mut words).await);
    }
    let (bare, ours) = (Times::of(bare), Times::of(ours));
    println!("postgres: bare insert of 2 KB: p50 {:.0} µs, p99 {:.0} µs", bare.p50(), bare.p99());
    println!(
        "postgres: turn of 2 KB: p50 {:.0} µs, p99 {:.0} µs: {:.2} × bare (goal ≤ 1.5)",
        ours.p50(),
        ours.p99(),
        ours.p50() / bare.p50()
    );
    ledger.close().await;
    drop(client);
    let _ = connection.await;
}
