//! The tables of the designs that the ledger stands for, as views that SQL can read.

use std::process::Command;

use epitome_core::compact::{Level, Segment};
use epitome_core::{Time, Tokens};
use epitome_ledger::LedgerError;
use epitome_ledger::model::{Expect, NewEvent, NewReply, NewSession, NewTurn, TenantId};

use crate::server::psql;
use crate::support::*;

on_both!(
    agent_turns_of_nexus,
    conversation_state_of_nous,
    conversation_history_of_friday,
    every_row_says_whose_it_is,
    a_conversation_is_named_once,
);

/// The rows of a query, columns apart by bars, whatever the database.
fn rows(place: &Place, sql: &str) -> Vec<String> {
    if !place.is_sqlite() {
        return psql(&place.address, sql).lines().map(str::to_owned).collect();
    }
    let connection = rusqlite::Connection::open(place.file()).unwrap();
    // What was appended is sorted in as soon as nobody writes.
    let arrived = || connection.query_row("SELECT count(*) FROM arrivals", [], |row| row.get::<_, i64>(0));
    while arrived().unwrap() > 0 {
        std::thread::yield_now();
    }
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let text = |column| match row.get_unwrap::<_, rusqlite::types::Value>(column) {
            rusqlite::types::Value::Null => String::new(),
            rusqlite::types::Value::Integer(value) => value.to_string(),
            rusqlite::types::Value::Text(value) => value,
            other => panic!("{other:?}"),
        };
        found.push((0..columns).map(text).collect::<Vec<_>>().join("|"));
    }
    found
}

async fn agent_turns_of_nexus(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let id = session.id;
    let mut first = call("question 1 of mine", "answer 1");
    first.model = Some("m-1".to_owned());
    first.time = Some(Time(111));
    if let Some(reply) = &mut first.reply {
        reply.tool_calls = 2;
    }
    let one = first.id;
    add(&ledger, &session, first).await;
    let two = talk(&ledger, &session, 2..3).await[0];
    let compaction = compact(&ledger, &session, vec![summary(0..2, "the summary"), verbatim(2..4)]).await;
    let open = NewTurn::of(vec![user("unanswered")]);
    let last = open.id;
    add(&ledger, &session, open).await;
    let fork = ledger.fork(ME, one, NewSession::of("agent")).await.unwrap();
    let forked = talk(&ledger, &fork, 9..10).await[0];
    let text = "SELECT id, parent_turn_id, turn_type, has_children, token_count, tool_call_count, model, summary, \
         summarized_through_turn_id, first_kept_turn_id, tokens_before, tokens_after, response_message_id \
         FROM agent_turns ORDER BY timestamp, id";
    let found = rows(&place, text);
    let expected = [
        format!("{one}||normal|1|6|2|m-1||||||{id}/1"),
        format!("{two}|{one}|normal|1|4|0|||||||{id}/3"),
        format!("{compaction}|{two}|compaction|1|0|0||the summary|{one}|{two}|150000|45000|"),
        format!("{last}|{compaction}|normal|0|1|0|||||||"),
        format!("{forked}|{one}|normal|0|4|0|||||||{}/3", fork.id),
    ];
    assert_eq!(found, expected);
    let queries = rows(&place, &format!("SELECT query_message_ids FROM agent_turns WHERE id = '{two}'"));
    assert_eq!(queries, [format!("[\"{id}/2\"]")]);
    let sessions = rows(
        &place,
        "SELECT id, head_turn_id, forked_from_session_id, forked_from_turn_id, turn_count FROM agent_sessions ORDER BY turn_count DESC",
    );
    assert_eq!(sessions, [format!("{id}|{last}|||4"), format!("{}|{forked}|{id}|{one}|2", fork.id)]);
    let index = match place.is_sqlite() {
        true => "SELECT sql FROM sqlite_schema WHERE name = 'idx_turns_compaction'",
        false => "SELECT indexdef FROM pg_indexes WHERE indexname = 'idx_turns_compaction'",
    };
    assert!(rows(&place, index)[0].contains("WHERE"), "the index holds compactions only");
}

async fn conversation_state_of_nous(place: Place) {
    let ledger = place.open().await;
    let new = NewSession { external: Some("telegram-7".to_owned()), ..NewSession::of("nous") };
    let session = ledger.create_session(ME, new).await.unwrap();
    talk(&ledger, &session, 0..3).await;
    compact(&ledger, &session, vec![summary(0..4, "so far"), verbatim(4..6)]).await;
    let text = "SELECT agent_id, session_id, summary, turn_count, compaction_count, total_tokens_estimated \
         FROM conversation_state";
    assert_eq!(rows(&place, text), ["nous|telegram-7|so far|4|1|12"]);
    let messages = rows(&place, "SELECT message_ids FROM conversation_state");
    let messages: serde_json::Value = serde_json::from_str(&messages[0]).unwrap();
    let shown: Vec<&str> =
        messages.as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(shown, ["user", "assistant"]);
    ledger.pack().await.unwrap();
    let state = ledger.conversation_state(ME, session.id).await.unwrap();
    assert_eq!((state.agent_id.as_str(), state.session_id.as_str()), ("nous", "telegram-7"));
    assert_eq!((state.summary.as_deref(), state.turn_count, state.compaction_count), (Some("so far"), 4, 1));
    assert_eq!(state.total_tokens_estimated, Tokens(12));
    let shown = r#"[{"role":"user","content":"question 2"},{"role":"assistant","content":"answer 2"}]"#;
    assert_eq!(state.messages, shown, "what was packed comes back as it was written");
    let head = ledger.session(ME, session.id).await.unwrap().head.unwrap();
    let fork = ledger.fork(ME, head, NewSession::of("nous")).await.unwrap();
    let inherited = format!("SELECT summary FROM conversation_state WHERE id = '{}'", fork.id);
    assert_eq!(rows(&place, &inherited), ["so far"], "a fork inherits the summary it stands on");
}

async fn conversation_history_of_friday(place: Place) {
    let ledger = place.open().await;
    let new = NewSession { platform: Some("slack".to_owned()), ..NewSession::of("friday") };
    let session = ledger.create_session(ME, new).await.unwrap();
    let timed = |number: i64| NewTurn {
        time: Some(Time(number)),
        reply: Some(NewReply { messages: vec![assistant("yes")], ..NewReply::default() }),
        ..NewTurn::of(vec![user("and then")])
    };
    for number in 0..4 {
        add(&ledger, &session, timed(number)).await;
    }
    let told = |range, text: &str, level| Segment::Summary { range, text: text.to_owned(), level };
    let mut new = compaction(vec![
        told(0..2, "old bulk", Level::Bulk),
        told(2..4, "topic one", Level::Topic),
        told(4..6, "topic two", Level::Topic),
        verbatim(6..8),
    ]);
    new.time = Some(Time(99));
    let now = ledger.session(ME, session.id).await.unwrap();
    ledger.compact(ME, expect(&now), new).await.unwrap();
    let text = "SELECT platform, tier, sequence, token_count, created_at, sealed_at FROM conversation_history \
         ORDER BY tier, sequence";
    let expected = [
        "slack|bulk|0|2|99|99",
        "slack|message|6|2|3|",
        "slack|message|7|1|3|",
        "slack|topic|2|3|99|99",
        "slack|topic|4|3|99|99",
    ];
    assert_eq!(rows(&place, text), expected);
    let text = "SELECT content FROM conversation_history WHERE tier = 'topic' ORDER BY sequence";
    assert_eq!(rows(&place, text), ["topic one", "topic two"]);
    ledger.pack().await.unwrap();
    let history = ledger.conversation_history(ME, session.id).await.unwrap();
    let found: Vec<String> = history
        .iter()
        .map(|row| {
            let sealed = row.sealed_at.map_or(String::new(), |time| time.0.to_string());
            let (tier, sequence, tokens) = (row.tier, row.sequence, row.token_count.0);
            format!("{}|{tier}|{sequence}|{tokens}|{}|{sealed}", row.platform, row.created_at.0)
        })
        .collect();
    let mut expected = expected.to_vec();
    expected.sort_by_key(|row| row.split('|').nth(2).unwrap().parse::<u64>().unwrap());
    assert_eq!(found, expected, "the same rows as the view's, in the order of the conversation");
    let contents: Vec<&str> = history.iter().map(|row| row.content.as_str()).collect();
    let said = [r#"{"role":"user","content":"and then"}"#, r#"{"role":"assistant","content":"yes"}"#];
    assert_eq!(contents, ["old bulk", "topic one", "topic two", said[0], said[1]]);
    let ids = rows(&place, "SELECT id FROM conversation_history ORDER BY sequence");
    assert_eq!(history.iter().map(|row| row.id.clone()).collect::<Vec<_>>(), ids);
    let messages =
        rows(&place, "SELECT message_id FROM conversation_history WHERE tier = 'message' ORDER BY sequence");
    assert_eq!(messages, [format!("{}/6", session.id), format!("{}/7", session.id)]);
}

async fn every_row_says_whose_it_is(place: Place) {
    let ledger = place.open().await;
    let other: TenantId = "00000000-0000-0000-0000-00000000000b".parse().unwrap();
    for tenant in [ME, other] {
        let new = NewSession { external: Some("name".to_owned()), ..NewSession::of("agent") };
        let session = ledger.create_session(tenant, new).await.unwrap();
        let first = call("question", "answer");
        let turn = first.id;
        let receipt = ledger.append(tenant, expect(&session), vec![first]).await.unwrap();
        let at = Expect { head: receipt.head, ..expect(&session) };
        ledger.compact(tenant, at, compaction(vec![summary(0..1, "s"), verbatim(1..2)])).await.unwrap();
        let fork = ledger.fork(tenant, turn, NewSession::of("agent")).await.unwrap();
        ledger.append(tenant, expect(&fork), vec![call("question", "again")]).await.unwrap();
        let event = NewEvent {
            platform: "chat".to_owned(),
            channel: String::new(),
            external: "1".to_owned(),
            time: Time(1),
            payload: b"a knock".to_vec(),
            turns: vec![turn],
        };
        ledger.append_event(tenant, event).await.unwrap();
    }
    let tables =
        ["spans", "event_turns", "entries", "sessions", "turns", "replies", "compactions", "messages"];
    for table in tables.into_iter().chain(["bodies", "events"]) {
        let counts = rows(&place, &format!("SELECT count(*) FROM {table} GROUP BY tenant ORDER BY tenant"));
        assert_eq!(counts.len(), 2, "{table}");
        assert_eq!(counts[0], counts[1], "{table}");
    }
    for view in VIEWS {
        let tenants = rows(&place, &format!("SELECT DISTINCT tenant_id FROM {view} ORDER BY tenant_id"));
        assert_eq!(tenants, [ME.to_string(), other.to_string()], "{view}");
    }
    let named = "SELECT tenant_id, agent_id, session_id FROM conversation_state WHERE session_id = 'name'";
    assert_eq!(rows(&place, named).len(), 2, "two tenants may call their sessions alike");
}

async fn a_conversation_is_named_once(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let named = |agent: &str| NewSession { external: Some(session.id.to_string()), ..NewSession::of(agent) };
    let refused = ledger.create_session(ME, named("agent")).await;
    assert!(matches!(refused, Err(LedgerError::Exists { .. })), "{refused:?}");
    ledger.create_session(ME, named("another agent")).await.unwrap();
}

const VIEWS: [&str; 4] = ["agent_sessions", "agent_turns", "conversation_state", "conversation_history"];

#[test]
fn the_sqlite3_program_reads_the_views() {
    let place = Place::sqlite();
    run(async {
        let ledger = place.open().await;
        let session = open_session(&ledger).await;
        talk(&ledger, &session, 0..3).await;
        compact(&ledger, &session, vec![summary(0..2, "one"), summary(2..4, "two"), verbatim(4..6)]).await;
        ledger.close().await;
    });
    let ask = |sql: &str| {
        let told = Command::new("sqlite3").arg("-readonly").arg(place.file()).arg(sql).output();
        let told = told.expect("the sqlite3 program is needed; scripts/test installs it");
        assert!(told.status.success(), "{sql}: {}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8(told.stdout).unwrap().trim_end().to_owned()
    };
    let counts = VIEWS.map(|view| ask(&format!("SELECT count(*) FROM {view} WHERE tenant_id IS NOT NULL")));
    assert_eq!(counts, ["1", "4", "1", "2"]);
    assert_eq!(ask("SELECT summary FROM conversation_state"), "one\n\ntwo");
    let ordinals = "SELECT group_concat(value ->> 'id' LIKE '%/' || (key + 4)) FROM conversation_state, json_each(message_ids)";
    assert_eq!(ask(ordinals), "1,1", "messages stand in their order");
}
