//! `epitome doctor --upstream`: what `epitome serve` needs, checked, and what to fix.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use crate::run::{Ran, command, ran};

/// A server that answers everything alike, until it is asked for `/end`.
struct Upstream {
    address: String,
    serving: Option<JoinHandle<()>>,
}

impl Upstream {
    fn answering(status: &'static str, headers: &'static str, body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serving = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                // Whoever only looks whether somebody is there says nothing.
                let Some(Ok(first)) = lines.next() else { continue };
                if first.contains("/end") {
                    return;
                }
                let _ = lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).count();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
                    body.len()
                );
            }
        });
        Self { address, serving: Some(serving) }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(&self.address) {
            let _ = stream.write_all(b"GET /end HTTP/1.1\r\n\r\n");
        }
        let _ = self.serving.take().unwrap().join();
    }
}

const MODELS: &str = r#"{"data":[{"id":"claude-opus-4-5"},{"id":"a-model-of-my-own"}]}"#;

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn checkup(folder: &std::path::Path, variables: &[(&str, &str)], more: &[&str]) -> Ran {
    let db = format!("sqlite:{}", folder.join("ledger.db").display());
    let arguments = [&["doctor", "--upstream", "--json", "--db", &db], more].concat();
    let mut command = command(&arguments);
    for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    ran(&mut command)
}

fn text(ran: &Ran) -> String {
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// The state, and what is said, of one thing.
fn found(ran: &Ran, subject: &str) -> (String, String) {
    let told: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let all = told["findings"].as_array().unwrap();
    let one = all.iter().find(|finding| finding["subject"] == subject);
    let one = one.unwrap_or_else(|| panic!("{subject}: {told}"));
    assert_eq!(one["hint"].is_null(), one["state"] == "good", "{one}");
    (one["state"].as_str().unwrap().to_owned(), one["seen"].as_str().unwrap().to_owned())
}

#[test]
fn a_set_up_that_works_is_said_to() {
    let upstream = Upstream::answering("200 OK", "", MODELS);
    let locked = Upstream::answering("401 Unauthorized", "", r#"{"error":{"message":"no key"}}"#);
    let folder = tempfile::tempdir().unwrap();
    let (url, locked) = (format!("http://{}/v1", upstream.address), format!("http://{}", locked.address));
    let listen = format!("127.0.0.1:{}", free_port());
    let base = format!("http://{listen}/v1");
    let variables = [
        ("EPITOME_LISTEN", listen.as_str()),
        ("EPITOME_OPENAI_UPSTREAM", &url),
        ("EPITOME_ANTHROPIC_UPSTREAM", &locked),
        ("OPENAI_BASE_URL", &base),
    ];
    let ran = checkup(folder.path(), &variables, &[]);
    assert_eq!(ran.code, 0, "{}{}", text(&ran), ran.stderr);
    for (subject, seen) in [
        ("listen", "is free"),
        ("database", "is begun by epitome serve"),
        ("spool", "nothing waits"),
        ("OPENAI_BASE_URL", "points at epitome"),
        ("openai_upstream", "answers"),
        ("anthropic_upstream", "wants a key"),
    ] {
        let (state, told) = found(&ran, subject);
        assert!(state == "good" && told.contains(seen), "{subject}: {state} {told}");
    }
    let (state, told) = found(&ran, "models");
    assert!(state == "note" && told.contains("a-model-of-my-own") && !told.contains("opus"), "{told}");
    assert!(!folder.path().join("ledger.db").exists(), "nothing is made");
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let upstream = Upstream::answering("200 OK", "", MODELS);
    let late = Upstream::answering("200 OK", "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "{}");
    let broken = Upstream::answering("503 Service Unavailable", "", "{}");
    let good = format!("http://{}", upstream.address);
    let doubled = format!("{good}/v1/v1");
    let call = format!("{good}/v1/chat/completions");
    let (late, broken) = (format!("http://{}", late.address), format!("http://{}", broken.address));
    let nobody = format!("http://127.0.0.1:{}", free_port());
    let own = "http://localhost:8484".to_owned();
    let cases: [(&str, &str, &str, &str); 8] = [
        ("EPITOME_OPENAI_UPSTREAM", &nobody, "openai_upstream", "cannot connect"),
        ("EPITOME_OPENAI_UPSTREAM", "http://no-such-host.invalid", "openai_upstream", "no address is known"),
        ("EPITOME_OPENAI_UPSTREAM", &doubled, "openai_upstream", "/v1/v1/"),
        ("EPITOME_OPENAI_UPSTREAM", &call, "openai_upstream", "/chat/completions/v1/"),
        ("EPITOME_OPENAI_UPSTREAM", &broken, "openai_upstream", "503"),
        ("EPITOME_OPENAI_UPSTREAM", &late, "clock", "differ by"),
        ("EPITOME_ANTHROPIC_UPSTREAM", &own, "anthropic_upstream", "epitome itself"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8484/v1", "ANTHROPIC_BASE_URL", "nobody answers"),
    ];
    for (name, value, subject, seen) in cases {
        let folder = tempfile::tempdir().unwrap();
        let variables = [
            ("EPITOME_OPENAI_UPSTREAM", good.as_str()),
            ("EPITOME_ANTHROPIC_UPSTREAM", &good),
            (name, value),
        ];
        let ran = checkup(folder.path(), &variables, &[]);
        assert_eq!(ran.code, 1, "{name}={value}: {}", text(&ran));
        let (state, told) = found(&ran, subject);
        assert!(state == "wrong" && told.contains(seen), "{name}={value}: {state} {told}");
    }
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    std::fs::create_dir_all(folder.path().join("ledger.spool")).unwrap();
    std::fs::write(folder.path().join("ledger.spool/a.unreadable"), "?").unwrap();
    std::fs::write(folder.path().join("ledger.db"), "this is no database, but long enough to be none")
        .unwrap();
    let variables = [
        ("EPITOME_OPENAI_UPSTREAM", good.as_str()),
        ("EPITOME_ANTHROPIC_UPSTREAM", &good),
        ("EPITOME_LISTEN", &listen),
    ];
    let closing = std::thread::spawn(move || {
        // Whoever asks gets no answer of ours.
        let (stream, _) = taken.accept().unwrap();
        drop((stream, taken));
    });
    let ran = checkup(folder.path(), &variables, &[]);
    closing.join().unwrap();
    assert_eq!(ran.code, 1);
    for subject in ["listen", "database", "spool"] {
        assert_eq!(found(&ran, subject).0, "wrong", "{}", text(&ran));
    }
}

/// A proxy that ends with the test.
struct Proxy(Child);

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_proxy_at_work_is_known_and_what_it_recorded_is_its_owners() {
    let upstream = Upstream::answering(
        "200 OK",
        "Content-Type: application/json\r\n",
        r#"{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Aye."}],"stop_reason":"end_turn"}"#,
    );
    let url = format!("http://{}", upstream.address);
    let folder = tempfile::tempdir().unwrap();
    let db = format!("sqlite:{}", folder.path().join("ledger.db").display());
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--db",
        &db,
        "--anthropic-upstream",
        &url,
        "--openai-upstream",
        &url,
    ];
    let mut child = command(&arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut proxy = Proxy(child);
    let address = lines.find_map(|line| Some(line.strip_prefix("listening on http://")?.to_owned())).unwrap();
    let rest = std::thread::spawn(move || lines.collect::<Vec<_>>().join("\n"));
    let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Steer north."}]}"#;
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(
        stream,
        "POST /v1/messages HTTP/1.1\r\nHost: p\r\nUser-Agent: tester/1\r\nx-api-key: sk-mine\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("Aye."), "{answer}");
    let variables = [
        ("EPITOME_LISTEN", address.as_str()),
        ("EPITOME_OPENAI_UPSTREAM", &url),
        ("EPITOME_ANTHROPIC_UPSTREAM", &url),
    ];
    let ran = checkup(folder.path(), &variables, &[]);
    assert_eq!(ran.code, 0, "{}{}", text(&ran), ran.stderr);
    assert!(found(&ran, "listen").1.contains("epitome serves at"), "{}", text(&ran));
    assert!(Command::new("kill").args(["-INT", &proxy.0.id().to_string()]).status().unwrap().success());
    assert_eq!(proxy.0.wait().unwrap().code(), Some(0));
    let said = rest.join().unwrap();
    assert!(said.contains("all of them yours") && !said.contains("--tenant"), "{said}");
    let sessions = crate::run::epitome(&["sessions", "--db", &db]);
    assert!(sessions.text().contains("tester"), "{}", sessions.text());
}

#[test]
fn it_serves_without_its_database_and_says_so() {
    let nobody = format!("postgres://nobody@127.0.0.1:{}/none", free_port());
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--db", &nobody]);
    command.env("XDG_DATA_HOME", folder.path()).env("HOME", folder.path()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let _proxy = Proxy(child);
    let first = lines.next().unwrap();
    assert!(first.starts_with("warning:") && first.contains("cannot be reached"), "{first}");
    let address = lines.find_map(|line| Some(line.strip_prefix("listening on http://")?.to_owned())).unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with(r#"{"status":"ok"}"#), "{answer}");
}
