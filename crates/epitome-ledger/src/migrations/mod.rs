//! The steps from an empty database to the present schema, numbered from one, for each database.
//!
//! A step that was released is never changed; what must change is a new step.

/// One step.
pub(crate) struct Migration {
    /// What it does to the schema.
    pub(crate) sql: &'static str,
}

macro_rules! migrations {
    ($($name:ident: $folder:literal [$($file:literal)*];)*) => {$(
        pub(crate) const $name: &[Migration] =
            &[$(Migration { sql: include_str!(concat!($folder, "/", $file, ".sql")) }),*];
    )*};
}

migrations! {
    SQLITE: "sqlite" ["0001_ledger" "0002_views" "0003_recall" "0004_arrivals" "0005_tenants" "0006_knowledge"];
    POSTGRES: "postgres" ["0001_ledger" "0002_views" "0003_recall" "0004_tenants" "0005_knowledge"];
}
