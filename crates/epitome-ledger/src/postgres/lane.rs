//! One connection to PostgreSQL, and the transaction on it.

use std::collections::HashMap;

use futures_util::future::{join, join_all, try_join_all};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::ready::{Naming, Ready};
use super::statement::{failure, row};
use super::{batch, landing};
use crate::error::{LedgerError, Result};
use crate::sql::{Row, Statement, Value};

/// Shapes of appends whose statements are kept ready.
const SHAPES: usize = 64;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// Each statement is a transaction of its own.
    Free,
    /// A transaction is to begin with the next statement, in the same message to the server.
    Due(Begin),
    /// A transaction is open.
    Open,
    /// The transaction was committed.
    Done,
}

/// What kind of transaction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// One that writes.
    Writing,
    /// One that reads, all of it as it was when it began.
    Snapshot,
}

impl Begin {
    fn statement(self) -> &'static str {
        match self {
            Begin::Writing => "BEGIN",
            Begin::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        }
    }
}

/// A connection with its prepared statements.
pub(crate) struct Lane {
    client: Client,
    naming: Naming,
    prepared: HashMap<String, Ready>,
    /// Whole appends, by their shapes.
    landings: HashMap<String, Ready>,
    pub(super) stand: Stand,
}

impl Lane {
    pub(super) fn new(client: Client, naming: Naming) -> Self {
        Self { client, naming, prepared: HashMap::new(), landings: HashMap::new(), stand: Stand::Free }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    async fn prepare(&mut self, text: &str) -> Result<Ready> {
        if let Some(prepared) = self.prepared.get(text) {
            return Ok(prepared.clone());
        }
        let prepared = Ready::new(&self.client, self.naming, text).await.map_err(failure)?;
        self.prepared.insert(text.to_owned(), prepared.clone());
        Ok(prepared)
    }

    pub(crate) async fn query(&mut self, text: &str, values: &[Value]) -> Result<Vec<Row>> {
        let prepared = self.prepare(text).await?;
        let rows = self.first(prepared.query(&self.client, values)).await?;
        self.begun();
        rows.map_err(failure)?.iter().map(row).collect()
    }

    pub(crate) async fn execute(&mut self, text: &str, values: &[Value]) -> Result<u64> {
        let prepared = self.prepare(text).await?;
        self.begin().await?;
        prepared.execute(&self.client, values).await.map_err(failure)
    }

    pub(crate) async fn queries(&mut self, statements: &[Statement]) -> Result<Vec<Vec<Row>>> {
        let prepared = self.prepare_all(statements).await?;
        let client = &self.client;
        let run = prepared.iter().zip(statements).map(|(prepared, it)| prepared.query(client, &it.values));
        let results = self.first(try_join_all(run)).await?;
        self.begun();
        let results = results.map_err(failure)?;
        results.iter().map(|rows| rows.iter().map(row).collect()).collect()
    }

    /// Sends everything and the commit in one go. A statement that fails turns the commit into a rollback.
    pub(crate) async fn finish(&mut self, statements: &[Statement]) -> Result<()> {
        let statements = batch::together(statements);
        let prepared = self.prepare_all(&statements).await?;
        self.begin().await?;
        let client = &self.client;
        let run = prepared.iter().zip(&statements).map(|(prepared, it)| prepared.execute(client, &it.values));
        let work = join_all(run);
        let (results, committed) = join(work, self.client.batch_execute("COMMIT")).await;
        self.stand = Stand::Done;
        for result in results {
            result.map_err(failure)?;
        }
        committed.map_err(failure)
    }

    /// Does `step` and what follows from it as one statement, which is a transaction by itself.
    pub(crate) async fn land(&mut self, step: &Statement, inserts: &[Statement]) -> Result<bool> {
        let groups = batch::groups(inserts);
        let shape = landing::shape(&groups);
        let prepared = match self.landings.get(&shape) {
            Some(prepared) => prepared.clone(),
            None => {
                let Some(text) = landing::text(step, &groups) else { return Ok(false) };
                let prepared = Ready::new(&self.client, self.naming, &text).await.map_err(failure)?;
                if self.landings.len() >= SHAPES {
                    self.landings.clear();
                }
                self.landings.insert(shape, prepared.clone());
                prepared
            }
        };
        let rows = prepared.query(&self.client, landing::values(step, &groups)).await;
        self.stand = Stand::Done;
        match rows {
            Ok(rows) => Ok(rows.first().is_some_and(|row| row.get::<_, i64>(0) > 0)),
            Err(error) if is_same_body(&error) => Ok(false),
            Err(error) => Err(failure(error)),
        }
    }

    /// Ends the transaction of work that went well and did not end it itself.
    pub(super) async fn commit(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.stand, Stand::Free) {
            Stand::Open => self.client.batch_execute("COMMIT").await.map_err(failure),
            Stand::Free | Stand::Due(_) | Stand::Done => Ok(()),
        }
    }

    /// Ends the transaction of work that failed.
    pub(super) async fn roll_back(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.stand, Stand::Free) {
            Stand::Open => self.client.batch_execute("ROLLBACK").await.map_err(failure),
            Stand::Free | Stand::Due(_) | Stand::Done => Ok(()),
        }
    }

    // Sends work, and where a transaction is due, what begins it before.
    async fn first<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        let Stand::Due(begin) = self.stand else { return Ok(work.await) };
        let (begun, done) = join(self.client.batch_execute(begin.statement()), work).await;
        begun.map_err(failure)?;
        Ok(done)
    }

    fn begun(&mut self) {
        if let Stand::Due(_) = self.stand {
            self.stand = Stand::Open;
        }
    }

    async fn begin(&mut self) -> Result<()> {
        self.first(async {}).await?;
        self.begun();
        if self.stand == Stand::Done {
            return Err(LedgerError::damaged("work went on behind its commit"));
        }
        Ok(())
    }

    async fn prepare_all(&mut self, statements: &[Statement]) -> Result<Vec<Ready>> {
        let mut prepared = Vec::with_capacity(statements.len());
        for statement in statements {
            prepared.push(self.prepare(&statement.text).await?);
        }
        Ok(prepared)
    }

    /// Runs statements that take no values, as migrations are.
    pub(super) async fn script(&mut self, text: &str) -> Result<()> {
        self.begin().await?;
        self.client.batch_execute(text).await.map_err(failure)
    }
}

// A body that another writer stores at the same moment, or that the same turn holds twice.
fn is_same_body(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|reason| {
        *reason.code() == SqlState::UNIQUE_VIOLATION && reason.constraint() == Some("bodies_hash")
    })
}
