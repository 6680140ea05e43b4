-- The texts that markers in pruned contexts stand for, by the short hash that the marker shows.
CREATE TABLE recalls (
    tenant  BIGINT NOT NULL,
    id      BIGINT NOT NULL,
    session BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    PRIMARY KEY (tenant, id, session, ordinal)
);
