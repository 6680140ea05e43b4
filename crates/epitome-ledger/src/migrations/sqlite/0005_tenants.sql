-- Every row says whose it is. An event that is told again otherwise is another version of it.

DROP VIEW conversation_history;
DROP VIEW conversation_state;
DROP VIEW shown_messages;
DROP VIEW standing_compactions;
DROP VIEW agent_turns;
DROP VIEW agent_sessions;
DROP VIEW paths;

CREATE TABLE new_spans (
    session      INTEGER NOT NULL,
    tenant       INTEGER NOT NULL,
    from_turn    INTEGER NOT NULL,
    to_turn      INTEGER NOT NULL,
    from_message INTEGER NOT NULL,
    to_message   INTEGER NOT NULL,
    owner        INTEGER NOT NULL,
    PRIMARY KEY (session, from_turn)
) STRICT, WITHOUT ROWID;
-- What belongs to nobody, which the doctor reports, has the tenant zero, which is nobody.
INSERT INTO new_spans SELECT p.session, COALESCE(s.tenant, 0), p.from_turn, p.to_turn, p.from_message, p.to_message, p.owner
FROM spans p LEFT JOIN sessions s ON s.key = p.session;
DROP TABLE spans;
ALTER TABLE new_spans RENAME TO spans;
CREATE INDEX spans_owner ON spans (owner);

CREATE TABLE new_events (
    key      INTEGER PRIMARY KEY,
    tenant   INTEGER NOT NULL,
    platform TEXT NOT NULL,
    channel  TEXT NOT NULL,
    external TEXT NOT NULL,
    -- Counted from one: the first telling of it, and each that was another.
    version  INTEGER NOT NULL,
    time     INTEGER NOT NULL,
    body     INTEGER NOT NULL
) STRICT;
INSERT INTO new_events SELECT key, tenant, platform, channel, external, 1, time, body FROM events;
DROP TABLE events;
ALTER TABLE new_events RENAME TO events;
CREATE UNIQUE INDEX events_external ON events (tenant, platform, channel, external, version);

CREATE TABLE new_event_turns (
    event  INTEGER NOT NULL,
    turn   BLOB NOT NULL,
    tenant INTEGER NOT NULL,
    PRIMARY KEY (event, turn)
) STRICT, WITHOUT ROWID;
INSERT INTO new_event_turns SELECT l.event, l.turn, COALESCE(e.tenant, 0)
FROM event_turns l LEFT JOIN events e ON e.key = l.event;
DROP TABLE event_turns;
ALTER TABLE new_event_turns RENAME TO event_turns;
CREATE INDEX event_turns_turn ON event_turns (turn);

CREATE TABLE new_entries (
    key     INTEGER PRIMARY KEY,
    tenant  INTEGER NOT NULL,
    session INTEGER,
    kind    INTEGER NOT NULL,
    place   INTEGER NOT NULL
) STRICT;
INSERT INTO new_entries SELECT e.key, COALESCE(s.tenant, v.tenant, 0), e.session, e.kind, e.place
FROM entries e LEFT JOIN sessions s ON s.key = e.session LEFT JOIN events v ON e.kind = 2 AND v.key = e.place;
DROP TABLE entries;
ALTER TABLE new_entries RENAME TO entries;
CREATE INDEX entries_event ON entries (place) WHERE kind = 2;

CREATE TABLE new_arrivals (
    key    INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    -- The turn that it records; none where it is the reply to one.
    turn   BLOB UNIQUE,
    record BLOB NOT NULL
) STRICT;
-- Behind four bytes of its record stands the key of its session, the lowest byte first.
INSERT INTO new_arrivals SELECT a.key, COALESCE(s.tenant, 0), a.turn, a.record
FROM arrivals a LEFT JOIN (SELECT tenant, printf('%02X%02X%02X%02X%02X%02X%02X%02X', key & 255, (key >> 8) & 255,
    (key >> 16) & 255, (key >> 24) & 255, (key >> 32) & 255, (key >> 40) & 255, (key >> 48) & 255, (key >> 56) & 255) AS place
    FROM sessions) s ON s.place = hex(substr(a.record, 5, 8));
DROP TABLE arrivals;
ALTER TABLE new_arrivals RENAME TO arrivals;

-- What an agent calls a session, or its id where it has no name, is said once.
CREATE UNIQUE INDEX sessions_name ON sessions (tenant, agent, COALESCE(external, lower(substr(hex(id), 1, 8) || '-' || substr(hex(id), 9, 4) || '-' || substr(hex(id), 13, 4) || '-' || substr(hex(id), 17, 4) || '-' || substr(hex(id), 21))));

-- The tables that other designs describe, as views of the one truth. They only read, and cost what they show. They also read
-- with SQLite 3.40.
--
-- Message ids are `SESSION/ORDINAL`. Bodies are packed, and SQL cannot unpack them: where those tables hold the text of
-- messages, the views hold their ids, in columns of another name. The rows with the text come from
-- `Ledger::conversation_state` and `Ledger::conversation_history`.

-- Who owns which stretch of the path of each session, its own stretch included.
CREATE VIEW paths AS
SELECT tenant, session, owner, from_turn, to_turn, from_message, to_message FROM spans
UNION ALL
SELECT tenant, key, key, first_turn, turns, first_message, messages FROM sessions WHERE purged IS NULL;

-- Nexus: the agents ledger.
CREATE VIEW agent_sessions AS
SELECT (SELECT lower(substr(hex(n.id), 1, 8) || '-' || substr(hex(n.id), 9, 4) || '-' || substr(hex(n.id), 13, 4) || '-' || substr(hex(n.id), 17, 4) || '-' || substr(hex(n.id), 21)) FROM tenants n WHERE n.key = s.tenant) AS tenant_id, lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-' || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)) AS id, s.agent AS agent_id, s.label, s.platform, s.channel, s.external AS external_id,
    CASE WHEN s.head IS NULL THEN NULL ELSE lower(substr(hex(s.head), 1, 8) || '-' || substr(hex(s.head), 9, 4) || '-' || substr(hex(s.head), 13, 4) || '-' || substr(hex(s.head), 17, 4) || '-' || substr(hex(s.head), 21)) END AS head_turn_id,
    (SELECT lower(substr(hex(p.id), 1, 8) || '-' || substr(hex(p.id), 9, 4) || '-' || substr(hex(p.id), 13, 4) || '-' || substr(hex(p.id), 17, 4) || '-' || substr(hex(p.id), 21)) FROM sessions p WHERE p.key = s.parent) AS forked_from_session_id,
    CASE WHEN s.parent_turn IS NULL THEN NULL ELSE lower(substr(hex(s.parent_turn), 1, 8) || '-' || substr(hex(s.parent_turn), 9, 4) || '-' || substr(hex(s.parent_turn), 13, 4) || '-' || substr(hex(s.parent_turn), 17, 4) || '-' || substr(hex(s.parent_turn), 21)) END AS forked_from_turn_id,
    s.turns AS turn_count, s.compactions AS compaction_count,
    s.tokens_used AS context_tokens_used, s.token_limit AS context_token_limit,
    s.tokens_total AS total_tokens_estimated, s.created AS created_at, s.updated AS updated_at
FROM sessions s WHERE s.purged IS NULL;

CREATE VIEW agent_turns AS
SELECT (SELECT lower(substr(hex(n.id), 1, 8) || '-' || substr(hex(n.id), 9, 4) || '-' || substr(hex(n.id), 13, 4) || '-' || substr(hex(n.id), 17, 4) || '-' || substr(hex(n.id), 21)) FROM tenants n WHERE n.key = s.tenant) AS tenant_id, lower(substr(hex(t.id), 1, 8) || '-' || substr(hex(t.id), 9, 4) || '-' || substr(hex(t.id), 13, 4) || '-' || substr(hex(t.id), 17, 4) || '-' || substr(hex(t.id), 21)) AS id, lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-' || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)) AS session_id,
    CASE WHEN t.number > s.first_turn
        THEN (SELECT lower(substr(hex(b.id), 1, 8) || '-' || substr(hex(b.id), 9, 4) || '-' || substr(hex(b.id), 13, 4) || '-' || substr(hex(b.id), 17, 4) || '-' || substr(hex(b.id), 21)) FROM turns b WHERE b.session = t.session AND b.number = t.number - 1)
        ELSE CASE WHEN s.parent_turn IS NULL THEN NULL ELSE lower(substr(hex(s.parent_turn), 1, 8) || '-' || substr(hex(s.parent_turn), 9, 4) || '-' || substr(hex(s.parent_turn), 13, 4) || '-' || substr(hex(s.parent_turn), 17, 4) || '-' || substr(hex(s.parent_turn), 21)) END END AS parent_turn_id,
    (SELECT json_group_array(q.id) FROM (SELECT lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-' || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)) || '/' || m.ordinal AS id FROM messages m
        WHERE m.session = t.session AND m.ordinal >= t.first AND m.ordinal < t.input_end ORDER BY m.ordinal) q) AS query_message_ids,
    (SELECT lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-' || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)) || '/' || m.ordinal FROM messages m WHERE m.session = t.session AND m.ordinal = r.finish - 1
        AND r.finish > t.input_end) AS response_message_id,
    COALESCE(r.model, t.model) AS model,
    (SELECT CAST(COALESCE(sum(m.tokens), 0) AS BIGINT) FROM messages m WHERE m.session = t.session
        AND m.ordinal >= t.first AND m.ordinal < COALESCE(r.finish, t.input_end)) AS token_count,
    t.estimated AS input_tokens_estimated, t.time AS timestamp,
    EXISTS (SELECT 1 FROM turns c WHERE c.session = t.session AND c.number = t.number + 1 UNION ALL SELECT 1 FROM sessions f WHERE f.parent = t.session AND f.parent_turn = t.id) AS has_children,
    COALESCE(r.tool_calls, 0) AS tool_call_count,
    CASE t.kind WHEN 1 THEN 'compaction' ELSE 'normal' END AS turn_type,
    CASE WHEN c.record IS NOT NULL THEN (SELECT group_concat(q.text, char(10) || char(10)) FROM (SELECT segment.value ->> 'text' AS text
        FROM json_each(c.record, '$.compaction.segments') segment WHERE segment.value ->> 'kind' = 'summary' ORDER BY segment.key) q) END AS summary,
    CASE WHEN c.summarized_through IS NULL THEN NULL ELSE lower(substr(hex(c.summarized_through), 1, 8) || '-' || substr(hex(c.summarized_through), 9, 4) || '-' || substr(hex(c.summarized_through), 13, 4) || '-' || substr(hex(c.summarized_through), 17, 4) || '-' || substr(hex(c.summarized_through), 21)) END AS summarized_through_turn_id, CASE WHEN c.first_kept IS NULL THEN NULL ELSE lower(substr(hex(c.first_kept), 1, 8) || '-' || substr(hex(c.first_kept), 9, 4) || '-' || substr(hex(c.first_kept), 13, 4) || '-' || substr(hex(c.first_kept), 17, 4) || '-' || substr(hex(c.first_kept), 21)) END AS first_kept_turn_id,
    c.tokens_before, c.tokens_after, c.strategy, c.trigger AS compaction_trigger
FROM turns t JOIN sessions s ON s.key = t.session
LEFT JOIN replies r ON r.session = t.session AND r.turn = t.number
LEFT JOIN compactions c ON c.session = t.session AND c.turn = t.number;

-- The compaction that each session stands on.
CREATE VIEW standing_compactions AS
SELECT s.tenant, s.key AS session, c.record, t.time
FROM sessions s JOIN paths p ON p.session = s.key AND s.nearest >= p.from_turn AND s.nearest < p.to_turn
JOIN compactions c ON c.session = p.owner AND c.turn = s.nearest
JOIN turns t ON t.session = c.session AND t.number = c.turn;

-- The messages of the path of each session that are shown, whole or pruned.
CREATE VIEW shown_messages AS
SELECT p.tenant, p.session, m.ordinal, m.role, m.tokens, m.turn, m.session AS owner
FROM paths p JOIN messages m ON m.session = p.owner AND m.ordinal >= p.from_message AND m.ordinal < p.to_message
LEFT JOIN standing_compactions c ON c.session = p.session
WHERE c.record IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(c.record, '$.compaction.segments') segment
    WHERE segment.value ->> '$.kind' IN ('summary', 'omitted')
    AND m.ordinal >= segment.value ->> '$.range.start' AND m.ordinal < segment.value ->> '$.range.end');

-- Spec 008.1: one row for a tenant's agent and its session. `message_ids` are those of `messages`, with role and tokens.
CREATE VIEW conversation_state AS
SELECT (SELECT lower(substr(hex(n.id), 1, 8) || '-' || substr(hex(n.id), 9, 4) || '-' || substr(hex(n.id), 13, 4) || '-' || substr(hex(n.id), 17, 4) || '-' || substr(hex(n.id), 21)) FROM tenants n WHERE n.key = s.tenant) AS tenant_id, lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-' || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)) AS id, s.agent AS agent_id, COALESCE(s.external, lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-' || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21))) AS session_id,
    (SELECT (SELECT group_concat(q.text, char(10) || char(10)) FROM (SELECT segment.value ->> 'text' AS text
        FROM json_each(c.record, '$.compaction.segments') segment WHERE segment.value ->> 'kind' = 'summary' ORDER BY segment.key) q) FROM standing_compactions c WHERE c.session = s.key) AS summary,
    (SELECT json_group_array(json(q.shown)) FROM (SELECT json_object('id', lower(substr(hex(o.id), 1, 8) || '-' || substr(hex(o.id), 9, 4) || '-' || substr(hex(o.id), 13, 4) || '-' || substr(hex(o.id), 17, 4) || '-' || substr(hex(o.id), 21)) || '/' || m.ordinal, 'role', CASE m.role WHEN 0 THEN 'system' WHEN 1 THEN 'developer' WHEN 2 THEN 'user' WHEN 3 THEN 'assistant' ELSE 'tool' END, 'tokens', m.tokens) AS shown
        FROM shown_messages m JOIN sessions o ON o.key = m.owner WHERE m.session = s.key ORDER BY m.ordinal) q) AS message_ids,
    s.turns AS turn_count, s.compactions AS compaction_count, s.tokens_total AS total_tokens_estimated,
    s.created AS created_at, s.updated AS updated_at
FROM sessions s WHERE s.purged IS NULL;

-- ADR 033: what a conversation shows, by tier. A topic is sealed when the compaction that tells of it was made. `content` is
-- the text of topics and bulk; a message has its id in `message_id` instead.
CREATE VIEW conversation_history AS
SELECT (SELECT lower(substr(hex(n.id), 1, 8) || '-' || substr(hex(n.id), 9, 4) || '-' || substr(hex(n.id), 13, 4) || '-' || substr(hex(n.id), 17, 4) || '-' || substr(hex(n.id), 21)) FROM tenants n WHERE n.key = s.tenant) AS tenant_id, lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-' || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)) || '/' || m.ordinal AS id, lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-' || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)) AS conversation_id, COALESCE(s.platform, '') AS platform,
    'message' AS tier, CAST(NULL AS TEXT) AS content, lower(substr(hex(o.id), 1, 8) || '-' || substr(hex(o.id), 9, 4) || '-' || substr(hex(o.id), 13, 4) || '-' || substr(hex(o.id), 17, 4) || '-' || substr(hex(o.id), 21)) || '/' || m.ordinal AS message_id, m.tokens AS token_count, m.ordinal AS sequence,
    (SELECT t.time FROM turns t WHERE t.session = m.owner AND t.number = m.turn) AS created_at,
    CAST(NULL AS BIGINT) AS sealed_at
FROM shown_messages m JOIN sessions s ON s.key = m.session JOIN sessions o ON o.key = m.owner
UNION ALL
SELECT (SELECT lower(substr(hex(n.id), 1, 8) || '-' || substr(hex(n.id), 9, 4) || '-' || substr(hex(n.id), 13, 4) || '-' || substr(hex(n.id), 17, 4) || '-' || substr(hex(n.id), 21)) FROM tenants n WHERE n.key = s.tenant), lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-' || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)) || '/' || (segment.value ->> '$.level') || '/' || (segment.value ->> '$.range.start'), lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-' || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)), COALESCE(s.platform, ''),
    segment.value ->> '$.level', segment.value ->> '$.text', NULL,
    (length(segment.value ->> '$.text') + 3) / 4, segment.value ->> '$.range.start', c.time, c.time
FROM standing_compactions c JOIN sessions s ON s.key = c.session, json_each(c.record, '$.compaction.segments') segment
WHERE segment.value ->> '$.kind' = 'summary' AND segment.value ->> '$.level' IN ('topic', 'bulk');
