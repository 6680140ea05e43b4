//! The tables of the designs that the ledger stands for, as views that SQL can read.

use epitome_core::Time;
use epitome_core::compact::{Level, Segment};
use epitome_ledger::model::{NewReply, NewSession, NewTurn};

use crate::server::psql;
use crate::support::*;

on_both!(agent_turns_of_nexus, conversation_state_of_nous, conversation_history_of_friday);

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
    let messages = rows(&place, "SELECT messages FROM conversation_state");
    let messages: serde_json::Value = serde_json::from_str(&messages[0]).unwrap();
    let shown: Vec<&str> =
        messages.as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(shown, ["user", "assistant"]);
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
}
