-- Every row says whose it is. An event that is told again otherwise is another version of it.

DROP VIEW conversation_history;
DROP VIEW conversation_state;
DROP VIEW shown_messages;
DROP VIEW standing_compactions;
DROP VIEW agent_turns;
DROP VIEW agent_sessions;
DROP VIEW paths;

-- What belongs to nobody, which the doctor reports, has the tenant zero, which is nobody.
ALTER TABLE spans ADD COLUMN tenant BIGINT;
UPDATE spans SET tenant = COALESCE((SELECT s.tenant FROM sessions s WHERE s.key = spans.session), 0);
ALTER TABLE spans ALTER COLUMN tenant SET NOT NULL;

-- Versions are counted from one: the first telling of an event, and each that was another.
ALTER TABLE events ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE events ALTER COLUMN version DROP DEFAULT;
DROP INDEX events_external;
CREATE UNIQUE INDEX events_external ON events (tenant, platform, channel, external, version);

ALTER TABLE event_turns ADD COLUMN tenant BIGINT;
UPDATE event_turns SET tenant = COALESCE((SELECT e.tenant FROM events e WHERE e.key = event_turns.event), 0);
ALTER TABLE event_turns ALTER COLUMN tenant SET NOT NULL;

-- The index would be written anew for every row.
DROP INDEX search;
ALTER TABLE entries ADD COLUMN tenant BIGINT;
UPDATE entries SET tenant = COALESCE((SELECT s.tenant FROM sessions s WHERE s.key = entries.session),
    (SELECT v.tenant FROM events v WHERE entries.kind = 2 AND v.key = entries.place), 0);
ALTER TABLE entries ALTER COLUMN tenant SET NOT NULL;
-- Terms of events now name the agents of the sessions that they led to.
UPDATE entries SET terms = NULL WHERE kind = 2;
CREATE INDEX search ON entries USING gin (terms) WHERE terms IS NOT NULL;

-- What an agent calls a session, or its id where it has no name, is said once.
CREATE UNIQUE INDEX sessions_name ON sessions (tenant, agent, (COALESCE(external, CAST(CAST(encode(id, 'hex') AS UUID) AS TEXT))));

-- The tables that other designs describe, as views of the one truth. They only read, and cost what they show.
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
SELECT (SELECT CAST(CAST(encode(n.id, 'hex') AS UUID) AS TEXT) FROM tenants n WHERE n.key = s.tenant) AS tenant_id, CAST(CAST(encode(s.id, 'hex') AS UUID) AS TEXT) AS id, s.agent AS agent_id, s.label, s.platform, s.channel, s.external AS external_id,
    CAST(CAST(encode(s.head, 'hex') AS UUID) AS TEXT) AS head_turn_id,
    (SELECT CAST(CAST(encode(p.id, 'hex') AS UUID) AS TEXT) FROM sessions p WHERE p.key = s.parent) AS forked_from_session_id,
    CAST(CAST(encode(s.parent_turn, 'hex') AS UUID) AS TEXT) AS forked_from_turn_id,
    s.turns AS turn_count, s.compactions AS compaction_count,
    s.tokens_used AS context_tokens_used, s.token_limit AS context_token_limit,
    s.tokens_total AS total_tokens_estimated, s.created AS created_at, s.updated AS updated_at
FROM sessions s WHERE s.purged IS NULL;

CREATE VIEW agent_turns AS
SELECT (SELECT CAST(CAST(encode(n.id, 'hex') AS UUID) AS TEXT) FROM tenants n WHERE n.key = s.tenant) AS tenant_id, CAST(CAST(encode(t.id, 'hex') AS UUID) AS TEXT) AS id, CAST(CAST(encode(s.id, 'hex') AS UUID) AS TEXT) AS session_id,
    CASE WHEN t.number > s.first_turn
        THEN (SELECT CAST(CAST(encode(b.id, 'hex') AS UUID) AS TEXT) FROM turns b WHERE b.session = t.session AND b.number = t.number - 1)
        ELSE CAST(CAST(encode(s.parent_turn, 'hex') AS UUID) AS TEXT) END AS parent_turn_id,
    (SELECT CAST(COALESCE(jsonb_agg(CAST(CAST(encode(s.id, 'hex') AS UUID) AS TEXT) || '/' || m.ordinal ORDER BY m.ordinal), '[]') AS TEXT) FROM messages m WHERE m.session = t.session AND m.ordinal >= t.first AND m.ordinal < t.input_end) AS query_message_ids,
    (SELECT CAST(CAST(encode(s.id, 'hex') AS UUID) AS TEXT) || '/' || m.ordinal FROM messages m WHERE m.session = t.session AND m.ordinal = r.finish - 1
        AND r.finish > t.input_end) AS response_message_id,
    COALESCE(r.model, t.model) AS model,
    (SELECT CAST(COALESCE(sum(m.tokens), 0) AS BIGINT) FROM messages m WHERE m.session = t.session
        AND m.ordinal >= t.first AND m.ordinal < COALESCE(r.finish, t.input_end)) AS token_count,
    t.estimated AS input_tokens_estimated, t.time AS timestamp,
    CAST(EXISTS (SELECT 1 FROM turns c WHERE c.session = t.session AND c.number = t.number + 1 UNION ALL SELECT 1 FROM sessions f WHERE f.parent = t.session AND f.parent_turn = t.id) AS INTEGER) AS has_children,
    COALESCE(r.tool_calls, 0) AS tool_call_count,
    CASE t.kind WHEN 1 THEN 'compaction' ELSE 'normal' END AS turn_type,
    CASE WHEN c.record IS NOT NULL THEN (SELECT string_agg(segment.value ->> 'text', E'\n\n' ORDER BY segment.ordinality)
         FROM jsonb_array_elements(CAST(c.record AS JSONB) #> '{compaction,segments}') WITH ORDINALITY segment
         WHERE segment.value ->> 'kind' = 'summary') END AS summary,
    CAST(CAST(encode(c.summarized_through, 'hex') AS UUID) AS TEXT) AS summarized_through_turn_id, CAST(CAST(encode(c.first_kept, 'hex') AS UUID) AS TEXT) AS first_kept_turn_id,
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
WHERE c.record IS NULL OR NOT EXISTS (SELECT 1 FROM jsonb_array_elements(CAST(c.record AS JSONB) #> '{compaction,segments}') segment
    WHERE (segment.value #>> '{kind}') IN ('summary', 'omitted')
    AND m.ordinal >= CAST((segment.value #>> '{range,start}') AS BIGINT) AND m.ordinal < CAST((segment.value #>> '{range,end}') AS BIGINT));

-- Spec 008.1: one row for a tenant's agent and its session. `message_ids` are those of `messages`, with role and tokens.
CREATE VIEW conversation_state AS
SELECT (SELECT CAST(CAST(encode(n.id, 'hex') AS UUID) AS TEXT) FROM tenants n WHERE n.key = s.tenant) AS tenant_id, CAST(CAST(encode(s.id, 'hex') AS UUID) AS TEXT) AS id, s.agent AS agent_id, COALESCE(s.external, CAST(CAST(encode(s.id, 'hex') AS UUID) AS TEXT)) AS session_id,
    (SELECT (SELECT string_agg(segment.value ->> 'text', E'\n\n' ORDER BY segment.ordinality)
         FROM jsonb_array_elements(CAST(c.record AS JSONB) #> '{compaction,segments}') WITH ORDINALITY segment
         WHERE segment.value ->> 'kind' = 'summary') FROM standing_compactions c WHERE c.session = s.key) AS summary,
    (SELECT CAST(COALESCE(jsonb_agg(jsonb_build_object('id', CAST(CAST(encode(o.id, 'hex') AS UUID) AS TEXT) || '/' || m.ordinal, 'role', CASE m.role WHEN 0 THEN 'system' WHEN 1 THEN 'developer' WHEN 2 THEN 'user' WHEN 3 THEN 'assistant' ELSE 'tool' END, 'tokens', m.tokens) ORDER BY m.ordinal), '[]') AS TEXT) FROM shown_messages m JOIN sessions o ON o.key = m.owner WHERE m.session = s.key) AS message_ids,
    s.turns AS turn_count, s.compactions AS compaction_count, s.tokens_total AS total_tokens_estimated,
    s.created AS created_at, s.updated AS updated_at
FROM sessions s WHERE s.purged IS NULL;

-- ADR 033: what a conversation shows, by tier. A topic is sealed when the compaction that tells of it was made. `content` is
-- the text of topics and bulk; a message has its id in `message_id` instead.
CREATE VIEW conversation_history AS
SELECT (SELECT CAST(CAST(encode(n.id, 'hex') AS UUID) AS TEXT) FROM tenants n WHERE n.key = s.tenant) AS tenant_id, CAST(CAST(encode(s.id, 'hex') AS UUID) AS TEXT) || '/' || m.ordinal AS id, CAST(CAST(encode(s.id, 'hex') AS UUID) AS TEXT) AS conversation_id, COALESCE(s.platform, '') AS platform,
    'message' AS tier, CAST(NULL AS TEXT) AS content, CAST(CAST(encode(o.id, 'hex') AS UUID) AS TEXT) || '/' || m.ordinal AS message_id, m.tokens AS token_count, m.ordinal AS sequence,
    (SELECT t.time FROM turns t WHERE t.session = m.owner AND t.number = m.turn) AS created_at,
    CAST(NULL AS BIGINT) AS sealed_at
FROM shown_messages m JOIN sessions s ON s.key = m.session JOIN sessions o ON o.key = m.owner
UNION ALL
SELECT (SELECT CAST(CAST(encode(n.id, 'hex') AS UUID) AS TEXT) FROM tenants n WHERE n.key = s.tenant), CAST(CAST(encode(s.id, 'hex') AS UUID) AS TEXT) || '/' || ((segment.value #>> '{level}')) || '/' || ((segment.value #>> '{range,start}')), CAST(CAST(encode(s.id, 'hex') AS UUID) AS TEXT), COALESCE(s.platform, ''),
    (segment.value #>> '{level}'), (segment.value #>> '{text}'), CAST(NULL AS TEXT),
    (length((segment.value #>> '{text}')) + 3) / 4, CAST((segment.value #>> '{range,start}') AS BIGINT), c.time, c.time
FROM standing_compactions c JOIN sessions s ON s.key = c.session CROSS JOIN LATERAL jsonb_array_elements(CAST(c.record AS JSONB) #> '{compaction,segments}') segment
WHERE (segment.value #>> '{kind}') = 'summary' AND (segment.value #>> '{level}') IN ('topic', 'bulk');
