-- The texts that markers in pruned contexts stand for, by the short hash that the marker shows.
CREATE TABLE recalls (
    tenant  INTEGER NOT NULL,
    id      INTEGER NOT NULL,
    session INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    PRIMARY KEY (tenant, id, session, ordinal)
) STRICT, WITHOUT ROWID;
