//! `epitome serve`: it listens, says where, passes requests on, and ends when it is told to.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::run::{command, epitome, ran};
use crate::shelf::server::{Server, psql};
use crate::upstream::{Act, Upstream};

/// A proxy that ends with the test.
struct Proxy {
    child: Child,
    address: String,
    folder: tempfile::TempDir,
    /// What it says once it listens.
    lines: Receiver<String>,
}

impl Proxy {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = format!("sqlite:{}", folder.path().join("ledger.db").display());
        Self::on(&db, folder, arguments)
    }

    /// With its ledger there, and what waits for that in this folder where the ledger has none.
    fn on(db: &str, folder: tempfile::TempDir, arguments: &[&str]) -> Self {
        let arguments = [&["serve", "--listen", "127.0.0.1:0", "--db", db], arguments].concat();
        let mut command = command(&arguments);
        let mut child = command.env("XDG_DATA_HOME", folder.path()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // A new ledger is told first.
        let listening = |line: String| Some(line.strip_prefix("listening on http://")?.to_owned());
        let address = lines.by_ref().map_while(Result::ok).find_map(listening).expect("it listens");
        // Whoever writes to a pipe that nobody reads would be held up.
        let (tell, told) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        Self { child, address, folder, lines: told }
    }

    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Proxy {
    // The lines of requests that it said until it was ended.
    fn told(mut self) -> Vec<String> {
        let ended = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(ended.success() && self.child.wait().unwrap().success());
        self.lines.iter().filter(|line| line.contains(" s  ")).collect()
    }

    /// What a person says in a conversation, and the answer.
    fn say(&self, history: &mut Vec<Value>, text: &str) {
        history.push(json!({"role": "user", "content": text}));
        let body = json!({"model": "m", "max_tokens": 9, "messages": history}).to_string();
        let told = self.ask(&format!(
            "POST /v1/messages HTTP/1.1\r\nHost: p\r\nConnection: close\r\nX-Api-Key: sk-mine\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        let answer: Value = serde_json::from_str(told.split_once("\r\n\r\n").unwrap().1).unwrap();
        history.push(json!({"role": "assistant", "content": answer["content"]}));
    }

    /// What the proxy counts, by its name without `epitome_`.
    fn counted(&self, name: &str) -> u64 {
        let all = self.ask("GET /metrics HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n");
        let wanted = format!("epitome_{name} ");
        all.lines().find_map(|line| line.strip_prefix(&wanted)).unwrap().parse().unwrap()
    }

    /// Ends it as if the power had gone.
    fn killed(mut self) -> tempfile::TempDir {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_serves_until_it_is_told_to_end() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", upstream.local_addr().unwrap());
    let mut proxy = Proxy::start(&["--openai-upstream", &url]);
    let health = proxy.ask("GET /healthz HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n");
    assert!(health.ends_with(r#"{"status":"ok"}"#), "{health}");

    let answering = std::thread::spawn(move || {
        let (mut stream, _) = upstream.accept().unwrap();
        let mut head = BufReader::new(stream.try_clone().unwrap()).lines();
        let first = head.next().unwrap().unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        first
    });
    let models = proxy.ask("GET /v1/models HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n");
    assert!(models.ends_with("{}"), "{models}");
    assert_eq!(answering.join().unwrap(), "GET /v1/models HTTP/1.1");

    let told = Command::new("kill").args(["-INT", &proxy.child.id().to_string()]).status().unwrap();
    assert!(told.success());
    assert_eq!(proxy.child.wait().unwrap().code(), Some(0));
}

#[test]
fn every_client_that_is_known_is_told_where_the_proxy_is() {
    let help = epitome(&["serve", "--help"]);
    let values = help.text().split("[possible values: ").nth(1).unwrap();
    let names: Vec<&str> = values.split(']').next().unwrap().split(',').map(str::trim).collect();
    for wanted in ["claude-code", "codex", "openai", "anthropic", "opencode", "pi", "aider", "langchain"] {
        assert!(names.contains(&wanted), "{wanted} is not among {names:?}");
    }
    for name in names {
        let ran = epitome(&["serve", "--listen", "0.0.0.0:9000", "--print-env", name]);
        assert!(ran.text().contains("http://127.0.0.1:9000"), "{name}: {}", ran.text());
        assert!(!ran.text().contains("/v1/v1") && !ran.text().contains("{v1}"), "{name}: {}", ran.text());
        let json = ran.text().lines().filter(|line| !line.starts_with("//")).collect::<String>();
        if json.starts_with('{') {
            serde_json::from_str::<serde_json::Value>(&json).unwrap();
        }
    }
    let ran = epitome(&["serve", "--print-env", "emacs"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("claude-code") && ran.stderr.contains("emacs"), "{}", ran.stderr);
}

#[test]
fn what_it_is_told_comes_in_layers_and_mistakes_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("epitome.toml");
    fs::write(&file, "listen = \"127.0.0.1:1111\"\nopenai_upstream = \"http://localhost:11434\"\n").unwrap();
    let file = file.to_str().unwrap();
    let run = |arguments: &[&str]| {
        let arguments = [&["--config", file], arguments].concat();
        ran(command(&arguments).env("EPITOME_LISTEN", "127.0.0.1:2222"))
    };
    assert!(run(&["serve", "--print-env", "openai"]).text().contains("127.0.0.1:2222"));
    assert!(run(&["serve", "--print-env", "openai", "--listen", "[::1]:3333"]).text().contains("[::1]:3333"));
    let shown = run(&["config", "listen", "EPITOME_OPENAI_UPSTREAM", "--json"]).json_lines();
    assert_eq!(
        (&shown[0]["value"], &shown[0]["origin"]),
        (&"127.0.0.1:2222".into(), &"EPITOME_LISTEN".into())
    );
    assert_eq!(shown[1]["value"], "http://localhost:11434");

    for (arguments, said) in [
        (["--listen", "here"], "is no address"),
        (["--anthropic-upstream", "api.anthropic.com"], "http:// or https://"),
        (["--openai-upstream", "https://me:hush@host"], "credentials"),
    ] {
        let ran = run(&[&["serve"], arguments.as_slice()].concat());
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(said) && !ran.stderr.contains("hush"), "{}", ran.stderr);
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let ran = run(&["serve", "--listen", &taken.local_addr().unwrap().to_string()]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("cannot listen on") && ran.stderr.contains("--listen"), "{}", ran.stderr);
}

#[test]
fn what_passes_is_recorded_and_can_be_shown() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", upstream.local_addr().unwrap());
    let mut proxy = Proxy::start(&["--anthropic-upstream", &url]);
    let answer = r#"{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Forty-two."}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":3}}"#;
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = upstream.accept().unwrap();
        let mut bytes = [0; 4096];
        while !String::from_utf8_lossy(&bytes).contains("What is the answer?") {
            assert!(stream.read(&mut bytes).unwrap() > 0);
        }
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.len()
        )
        .unwrap();
    });
    let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"What is the answer?"}]}"#;
    let told = proxy.ask(&format!(
        "POST /v1/messages HTTP/1.1\r\nHost: p\r\nUser-Agent: tester/1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    answering.join().unwrap();
    assert!(told.ends_with(answer), "{told}");
    let session = told.lines().find_map(|line| line.strip_prefix("x-epitome-session: ")).unwrap().to_owned();
    assert!(Command::new("kill").args(["-INT", &proxy.child.id().to_string()]).status().unwrap().success());
    assert_eq!(proxy.child.wait().unwrap().code(), Some(0));
    let db = format!("sqlite:{}", proxy.folder.path().join("ledger.db").display());
    let shown = epitome(&["export", &session, "--db", &db]);
    assert!(
        shown.text().contains("What is the answer?") && shown.text().contains("Forty-two."),
        "{}",
        shown.text()
    );
    let sessions = epitome(&["sessions", "--db", &db]);
    assert!(sessions.text().contains("tester"), "{}", sessions.text());
}

// An upstream that answers every request, each on a connection of its own.
fn answering(count: usize) -> (String, std::thread::JoinHandle<()>) {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", upstream.local_addr().unwrap());
    let answer = r#"{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Aye."}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":3}}"#;
    let serving = std::thread::spawn(move || {
        for _ in 0..count {
            let (mut stream, _) = upstream.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                let told = line.to_ascii_lowercase();
                length = told.strip_prefix("content-length:").map_or(length, |it| it.trim().parse().unwrap());
                line.clear();
            }
            reader.read_exact(&mut vec![0; length]).unwrap();
            let kind = "Content-Type: application/json\r\nConnection: close";
            write!(stream, "HTTP/1.1 200 OK\r\n{kind}\r\nContent-Length: {}\r\n\r\n{answer}", answer.len())
                .unwrap();
        }
    });
    (url, serving)
}

#[test]
fn every_request_is_one_line_that_tells_no_secret() {
    let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Steer north."}]}"#;
    let post = |path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: p\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n");
    let large =
        "POST /v1/responses HTTP/1.1\r\nHost: p\r\nConnection: close\r\nContent-Length: 999999999\r\n\r\n";
    // What is asked, the status, whether it goes up, and what the line says of it.
    let asked = [
        (post("/v1/messages?key=hush"), 200, true, " /v1/messages"),
        (post("/v1/messages/count_tokens?key=hush"), 200, true, " /v1/messages/count_tokens"),
        (get("/v1/models?key=hush"), 200, true, " /v1/models"),
        (large.to_owned(), 413, false, " /v1/responses  (epitome: the body is larger than 64 MB)"),
        (get("/chat/completions"), 404, false, "the base URL must end in /v1)"),
        (get("/healthz"), 200, false, ""),
    ];
    for mode in ["compact", "off"] {
        let (url, serving) = answering(asked.iter().filter(|(_, _, goes_up, _)| *goes_up).count());
        let proxy = Proxy::start(&["--mode", mode, "--anthropic-upstream", &url, "--openai-upstream", &url]);
        for (request, status, _, _) in &asked {
            let answer = proxy.ask(request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{mode}: {request}: {answer}");
        }
        serving.join().unwrap();
        let lines = proxy.told();
        assert_eq!(lines.len(), asked.len() - 1, "{mode}: {lines:#?}");
        for (_, status, _, said) in asked.iter().filter(|(_, _, _, said)| !said.is_empty()) {
            let mut of = lines.iter().filter(|line| line.ends_with(said));
            let line = of.next().unwrap_or_else(|| panic!("{mode}: {said}: {lines:#?}"));
            assert!(of.next().is_none() && line.starts_with(&status.to_string()), "{mode}: {lines:#?}");
            assert!(!line.contains("hush"), "{mode}: {line}");
            // Where sessions are kept, the line of a call has their figures.
            let is_kept = mode == "compact" && *said == " /v1/messages";
            let figures = line.contains(" new ") && line.contains("9 billed") && line.contains(" m /v1/");
            assert_eq!(figures, is_kept, "{mode}: {line}");
        }
    }
}

#[test]
fn what_waited_on_disk_when_it_was_killed_is_recorded_once_and_in_order_by_the_next_one() {
    let mut postgres = Server::start();
    let upstream = Upstream::scripted(|number, _| Act::say(&format!("Answer {number}.")));
    let url = upstream.url();
    for tenants in ["one", "key"] {
        let db = postgres.database();
        postgres.kill();
        let arguments = ["--anthropic-upstream", &url, "--tenants", tenants];
        let proxy = Proxy::on(&db, tempfile::tempdir().unwrap(), &arguments);
        let mut histories = [Vec::new(), Vec::new()];
        for turn in 0..3 {
            for (number, history) in histories.iter_mut().enumerate() {
                proxy.say(history, &format!("Order {turn} of {number}."));
            }
        }
        assert!(proxy.counted("spool_bytes") > 0);
        // What the client has heard is on disk a moment later.
        let spool = proxy.folder.path().join("epitome/ledger.spool");
        let answered = || {
            let files = fs::read_dir(&spool).unwrap().map(|file| file.unwrap().path());
            let held = files.map(|file| fs::read_to_string(file).unwrap_or_default());
            held.filter(|turn| turn.contains("\"reply\":{")).count()
        };
        while answered() < 6 {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let folder = proxy.killed();
        postgres.restart();
        let proxy = Proxy::on(&db, folder, &arguments);
        while proxy.counted("spool_depth") > 0 {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        drop(proxy);
        assert_eq!(psql(&db, "SELECT count(*) FROM messages").trim(), "12", "each is there once");
        let id = "CAST(encode(id, 'hex') AS UUID)";
        let tenant = psql(&db, &format!("SELECT {id} FROM tenants ORDER BY key DESC LIMIT 1"));
        let sessions = psql(&db, &format!("SELECT {id} FROM sessions ORDER BY key"));
        assert_eq!(sessions.lines().count(), 2, "{tenants}: {sessions}");
        for (session, history) in sessions.lines().zip(&histories) {
            let shown = epitome(&["export", session, "--db", &db, "--tenant", tenant.trim()]);
            let mut rest = shown.text();
            for message in history {
                let content = &message["content"];
                let text = content.as_str().or_else(|| content[0]["text"].as_str()).unwrap();
                let (_, behind) = rest.split_once(text).unwrap_or_else(|| panic!("{text}: {}", shown.text()));
                rest = behind;
            }
        }
    }
}
