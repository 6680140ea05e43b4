-- The ledger's tables. Rows are appended and never changed, but for the columns of `sessions` that say where it stands,
-- the packing of `bodies`, `progress`, and what an owner purges. Times are milliseconds since 1970, ids are sixteen bytes.

CREATE TABLE tenants (
    key INTEGER PRIMARY KEY,
    id  BLOB NOT NULL UNIQUE
) STRICT;

CREATE TABLE sessions (
    key          INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE,
    tenant       INTEGER NOT NULL,
    agent        TEXT NOT NULL,
    label        TEXT,
    platform     TEXT,
    channel      TEXT,
    external     TEXT,
    -- Where it left another session: that session, the last turn of it and the number of its messages.
    parent       INTEGER,
    parent_turn  BLOB,
    first_turn   INTEGER NOT NULL,
    first_message INTEGER NOT NULL,
    created      INTEGER NOT NULL,
    -- Where it stands.
    head         BLOB,
    turns        INTEGER NOT NULL,
    messages     INTEGER NOT NULL,
    chain        BLOB NOT NULL,
    nearest      INTEGER,
    compactions  INTEGER NOT NULL,
    tokens_total INTEGER NOT NULL,
    tokens_used  INTEGER NOT NULL,
    token_limit  INTEGER,
    updated      INTEGER NOT NULL,
    -- When it was purged; what forks of it need is kept until they are purged, too.
    purged       INTEGER,
    -- Who may write.
    lease_holder TEXT,
    lease_until  INTEGER,
    fence        INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX sessions_external ON sessions (tenant, agent, external) WHERE external IS NOT NULL;
CREATE INDEX sessions_tenant ON sessions (tenant, key);
CREATE INDEX sessions_parent ON sessions (parent) WHERE parent IS NOT NULL;

-- The ancestors of a forked session, flattened: who owns which turns and messages of its path.
CREATE TABLE spans (
    session      INTEGER NOT NULL,
    from_turn    INTEGER NOT NULL,
    to_turn      INTEGER NOT NULL,
    from_message INTEGER NOT NULL,
    to_message   INTEGER NOT NULL,
    owner        INTEGER NOT NULL,
    PRIMARY KEY (session, from_turn)
) STRICT, WITHOUT ROWID;
CREATE INDEX spans_owner ON spans (owner);

-- A turn's parent is the turn before it on its path.
CREATE TABLE turns (
    session     INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    id          BLOB NOT NULL,
    tenant      INTEGER NOT NULL,
    kind        INTEGER NOT NULL,
    first       INTEGER NOT NULL,
    input_end   INTEGER NOT NULL,
    model       TEXT,
    estimated   INTEGER,
    time        INTEGER NOT NULL,
    nearest     INTEGER,
    compactions INTEGER NOT NULL,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX turns_id ON turns (id);
CREATE INDEX idx_turns_compaction ON turns (session, number) WHERE kind = 1;

CREATE TABLE replies (
    session     INTEGER NOT NULL,
    turn        INTEGER NOT NULL,
    tenant      INTEGER NOT NULL,
    kind        INTEGER NOT NULL,
    finish      INTEGER NOT NULL,
    model       TEXT,
    input       INTEGER,
    cache_read  INTEGER,
    cache_write INTEGER,
    output      INTEGER,
    tool_calls  INTEGER NOT NULL,
    time        INTEGER NOT NULL,
    PRIMARY KEY (session, turn)
) STRICT, WITHOUT ROWID;

CREATE TABLE compactions (
    session            INTEGER NOT NULL,
    turn               INTEGER NOT NULL,
    tenant             INTEGER NOT NULL,
    record             TEXT NOT NULL,
    strategy           TEXT NOT NULL,
    trigger            TEXT NOT NULL,
    tokens_before      INTEGER NOT NULL,
    tokens_after       INTEGER NOT NULL,
    summarized_through BLOB,
    first_kept         BLOB,
    report             TEXT,
    PRIMARY KEY (session, turn)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    session  INTEGER NOT NULL,
    ordinal  INTEGER NOT NULL,
    tenant   INTEGER NOT NULL,
    turn     INTEGER NOT NULL,
    role     INTEGER NOT NULL,
    record   INTEGER NOT NULL,
    notation INTEGER NOT NULL,
    body     INTEGER NOT NULL,
    tokens   INTEGER NOT NULL,
    chain    BLOB NOT NULL,
    PRIMARY KEY (session, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX messages_chain ON messages (tenant, chain);

-- Each body once for a tenant: its bytes, or where it stands in a pack.
CREATE TABLE bodies (
    key    INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    hash   BLOB NOT NULL,
    -- The hash of the canonical form, where that is not the body itself.
    digest BLOB,
    size   INTEGER NOT NULL,
    pack   INTEGER,
    place  INTEGER,
    bytes  BLOB
) STRICT;
CREATE UNIQUE INDEX bodies_hash ON bodies (tenant, hash);
CREATE INDEX bodies_pack ON bodies (pack) WHERE pack IS NOT NULL;

-- Bodies of one tenant that were recorded one after the other, compressed together. Keys are never given twice, because
-- packs that were read are remembered by them.
CREATE TABLE packs (
    key    INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    size   INTEGER NOT NULL,
    bytes  BLOB NOT NULL
) STRICT;

-- How far the packing of bodies has come, and the index of what can be searched for.
CREATE TABLE progress (
    packed  INTEGER NOT NULL,
    indexed INTEGER NOT NULL
) STRICT;
INSERT INTO progress (packed, indexed) VALUES (0, 0);

-- Pins, seals and their like: what was said about a stretch of a path, and how far the path went then.
CREATE TABLE notes (
    session INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    tenant  INTEGER NOT NULL,
    turns   INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    first   INTEGER NOT NULL,
    finish  INTEGER NOT NULL,
    content TEXT,
    time    INTEGER NOT NULL,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;

-- What happened on the channels outside. Never compacted.
CREATE TABLE events (
    key      INTEGER PRIMARY KEY,
    tenant   INTEGER NOT NULL,
    platform TEXT NOT NULL,
    channel  TEXT NOT NULL,
    external TEXT NOT NULL,
    time     INTEGER NOT NULL,
    body     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_external ON events (tenant, platform, channel, external);
CREATE TABLE event_turns (
    event INTEGER NOT NULL,
    turn  BLOB NOT NULL,
    PRIMARY KEY (event, turn)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_turns_turn ON event_turns (turn);

-- What can be searched for, in the order in which it was recorded: kind 0 message, 1 summary, 2 event.
CREATE TABLE entries (
    key     INTEGER PRIMARY KEY,
    session INTEGER,
    kind    INTEGER NOT NULL,
    place   INTEGER NOT NULL
) STRICT;
CREATE INDEX entries_event ON entries (place) WHERE kind = 2;
-- The ledger's own terms, apart by spaces; what they are is not SQLite's business. It is filled a little later than
-- `entries`, many at a time; `progress` says how far. A search looks at the rest itself.
CREATE VIRTUAL TABLE search USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none,
    tokenize = "ascii tokenchars '!#$%&()*+,-./:;<=>?@[]^_`{|}~'"
);

-- What was purged, by whom and why.
CREATE TABLE tombstones (
    key      INTEGER PRIMARY KEY,
    tenant   BLOB NOT NULL,
    scope    TEXT NOT NULL,
    subject  TEXT NOT NULL,
    sessions INTEGER NOT NULL,
    turns    INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    events   INTEGER NOT NULL,
    bodies   INTEGER NOT NULL,
    bytes    INTEGER NOT NULL,
    actor    TEXT NOT NULL,
    reason   TEXT NOT NULL,
    time     INTEGER NOT NULL
) STRICT;
