//! The agent of the examples, against a server on loopback that speaks the provider's protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use epitome_wire::{Dialect, check, decode_message};
use serde_json::{Value, json};

use crate::claude::Claude;
use crate::support::{Place, on_both, prose};
use crate::tools::Tools;
use crate::turn::turn;

on_both!(an_agent_reads_more_than_its_window_holds);

#[test]
fn the_agent_takes_few_lines() {
    let code = [include_str!("../../examples/agent/main.rs"), include_str!("../../examples/agent/turn.rs")];
    let lines = code.iter().flat_map(|file| file.lines()).map(str::trim_start);
    let count = lines.filter(|line| !line.is_empty() && !line.starts_with("//")).count();
    assert!(count <= 60, "{count} lines");
}

/// So many files are read before the answer.
const FILES: usize = 24;
/// The request that is refused as too long, counted from 0.
const REFUSED: usize = 9;

/// A server that has each file read in turn, refuses one request, and answers when all are read. It hands every body on.
fn server(folder: &str) -> (String, mpsc::Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (sender, bodies) = mpsc::channel();
    let folder = folder.to_owned();
    thread::spawn(move || {
        let mut asked = 0;
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let Ok(()) = sender.send(request(&stream)) else { return };
            if number == REFUSED {
                let said = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 40000 tokens > 32000 maximum"}}"#;
                write!(stream, "HTTP/1.1 400 Bad Request\r\ncontent-length: {}\r\n\r\n{said}", said.len())
                    .unwrap();
                continue;
            }
            let path = format!("{folder}/{asked}.txt");
            answer(&mut stream, (asked < FILES).then_some((asked, path)));
            asked += 1;
        }
    });
    (base, bodies)
}

fn request(stream: &TcpStream) -> Value {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

// Streams a call or the last words, in chunks that end where they like.
fn answer(stream: &mut TcpStream, read: Option<(usize, String)>) {
    let mut events = vec![json!({"type": "message_start", "message": {"usage": {"input_tokens": 100}}})];
    let (block, deltas) = match read {
        Some((number, path)) => {
            let input = json!({"path": path}).to_string();
            let (one, two) = input.split_at(input.len() / 2);
            let delta = |part: &str| json!({"type": "input_json_delta", "partial_json": part});
            let id = format!("toolu_{number}");
            (json!({"type": "tool_use", "id": id, "name": "read", "input": {}}), vec![delta(one), delta(two)])
        }
        None => {
            let delta = |part: &str| json!({"type": "text_delta", "text": part});
            (json!({"type": "text", "text": ""}), vec![delta("All files "), delta("are read.")])
        }
    };
    events.push(json!({"type": "content_block_start", "index": 0, "content_block": block}));
    events.extend(
        deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": 0, "delta": delta})),
    );
    events.push(json!({"type": "content_block_stop", "index": 0}));
    events.push(json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}}));
    let text: String =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"])).collect();
    write!(stream, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
    for chunk in text.as_bytes().chunks(77) {
        write!(stream, "{:x}\r\n", chunk.len()).unwrap();
        stream.write_all(chunk).unwrap();
        write!(stream, "\r\n").unwrap();
    }
    write!(stream, "0\r\n\r\n").unwrap();
}

async fn an_agent_reads_more_than_its_window_holds(place: Place) {
    let folder = tempfile::tempdir().unwrap();
    let texts: Vec<String> = (0..FILES).map(|number| prose(number, 3_000)).collect();
    for (number, text) in texts.iter().enumerate() {
        std::fs::write(folder.path().join(format!("{number}.txt")), text).unwrap();
    }
    let (base, bodies) = server(folder.path().to_str().unwrap());
    let shown = Arc::new(Mutex::new(String::new()));
    let show = {
        let shown = Arc::clone(&shown);
        Box::new(move |text: &str| shown.lock().unwrap().push_str(text))
    };
    let (key, model) = ("none".to_owned(), "claude-sonnet-4-5".to_owned());
    let claude = Claude { base, key, model, show };
    let engine = place.engine().await;
    let session = engine.session("agent").await.unwrap();
    let tools = Tools { may_run: false };
    turn(&session, &claude, &tools, "Read all files of the folder.").await.unwrap();
    turn(&session, &claude, &tools, "/compact").await.unwrap();
    let shown = shown.lock().unwrap().clone();
    assert!(shown.starts_with("All files are read.") && shown.ends_with(" tokens"), "{shown}");

    let counter = epitome_core::models::ModelTable::default().get("").model.counter();
    let bodies: Vec<Value> = bodies.try_iter().collect();
    assert_eq!(bodies.len(), FILES + 2);
    for body in &bodies {
        let read = |message: &Value| decode_message(Dialect::Anthropic, &message.to_string()).unwrap().0;
        let messages: Vec<_> = body["messages"].as_array().unwrap().iter().map(read).collect();
        let tokens: u64 = messages.iter().map(|message| counter.message(message).0).sum();
        assert!(tokens <= 32_000, "{tokens} tokens were sent");
        let violations = check::check(Dialect::Anthropic, None, &messages);
        assert!(!violations.iter().any(|found| found.severity() == check::Severity::Error), "{violations:?}");
    }
    let size = |body: &Value| body["messages"].to_string().len();
    assert!(size(&bodies[REFUSED + 1]) < size(&bodies[REFUSED]), "after a refusal less is sent");

    let info = session.info().await.unwrap();
    assert!(info.compactions >= 1);
    assert_eq!(info.messages, 2 + 2 * FILES as u64);
    let all = session.export(Dialect::Anthropic).await.unwrap();
    assert!(texts.iter().all(|text| all.contains(text.as_str())), "the ledger holds all of it");
}
