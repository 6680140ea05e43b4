-- What was learnt from conversations, in which episodes they went, and what programs remember beside them. Findings, marks and
-- episodes are appended and never changed; a memo is what was written last.

CREATE TABLE findings (
    key        INTEGER PRIMARY KEY,
    tenant     INTEGER NOT NULL,
    id         BLOB NOT NULL,
    agent      TEXT NOT NULL,
    -- The message that says it: the session that recorded it, and its place on the path.
    session    INTEGER NOT NULL,
    ordinal    INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    subject    TEXT NOT NULL,
    content    TEXT NOT NULL,
    supersedes BLOB,
    time       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX findings_id ON findings (tenant, id);
CREATE INDEX findings_agent ON findings (tenant, agent, key);
CREATE INDEX findings_session ON findings (session, key);
CREATE INDEX findings_supersedes ON findings (tenant, supersedes) WHERE supersedes IS NOT NULL;
CREATE INDEX entries_finding ON entries (place) WHERE kind = 3;

CREATE TABLE finding_marks (
    key     INTEGER PRIMARY KEY,
    tenant  INTEGER NOT NULL,
    finding INTEGER NOT NULL,
    mark    INTEGER NOT NULL,
    time    INTEGER NOT NULL
) STRICT;
CREATE INDEX finding_marks_finding ON finding_marks (finding, key);

-- Each lies on the session that recorded the compaction which closed it.
CREATE TABLE episodes (
    session INTEGER NOT NULL,
    turn    INTEGER NOT NULL,
    tenant  INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    finish  INTEGER NOT NULL,
    title   TEXT,
    opened  INTEGER NOT NULL,
    closed  INTEGER NOT NULL,
    PRIMARY KEY (session, turn)
) STRICT, WITHOUT ROWID;

CREATE TABLE memos (
    key    INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    scope  TEXT NOT NULL,
    name   TEXT NOT NULL,
    value  TEXT NOT NULL,
    time   INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX memos_name ON memos (tenant, scope, name);
