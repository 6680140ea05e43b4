//! A statement that can be sent: one that the server has prepared, or its text, where a pooler hands each transaction to another
//! connection of the server, which would not know it.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

use crate::sql::Value;

/// Whether the server prepares statements that are then sent by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// It does.
    Named,
    /// Each is sent as a whole.
    Unnamed,
}

/// A statement that can be sent.
#[derive(Clone)]
pub(super) enum Ready {
    Prepared(Statement),
    Text(String),
}

impl Ready {
    /// Prepares a statement, where that is wanted.
    pub(super) async fn new(client: &Client, naming: Naming, text: &str) -> Result<Self, Error> {
        match naming {
            Naming::Named => client.prepare(text).await.map(Self::Prepared),
            Naming::Unnamed => Ok(Self::Text(text.to_owned())),
        }
    }

    /// The rows that it returns.
    pub(super) async fn query<'v>(
        &self,
        client: &Client,
        values: impl IntoIterator<Item = &'v Value>,
    ) -> Result<Vec<Row>, Error> {
        match self {
            Self::Prepared(statement) => client.query(statement, &references(values)).await,
            Self::Text(text) => client.query_typed(text, &typed(values)).await,
        }
    }

    /// The number of rows that it changes.
    pub(super) async fn execute<'v>(
        &self,
        client: &Client,
        values: impl IntoIterator<Item = &'v Value>,
    ) -> Result<u64, Error> {
        match self {
            Self::Prepared(statement) => client.execute(statement, &references(values)).await,
            Self::Text(text) => client.execute_typed(text, &typed(values)).await,
        }
    }
}

fn references<'v>(values: impl IntoIterator<Item = &'v Value>) -> Vec<&'v (dyn ToSql + Sync)> {
    values.into_iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

// The server finds out the types as it does when it prepares.
fn typed<'v>(values: impl IntoIterator<Item = &'v Value>) -> Vec<(&'v (dyn ToSql + Sync), Type)> {
    values.into_iter().map(|value| (value as &(dyn ToSql + Sync), Type::UNKNOWN)).collect()
}
