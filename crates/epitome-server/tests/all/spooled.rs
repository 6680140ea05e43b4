//! What waits on disk: whatever is in it, it is recorded, or kept beside, and is in nobody's way.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use epitome::Dialect;
use epitome_server::{Source, Tenants};

use crate::house::{Agent, House, header, recorded};
use crate::server;
use crate::support::run;
use crate::upstream::{Act, Upstream};

/// The names of the files in a house's spool that end so.
fn files(house: &House, kinds: &[&str]) -> Vec<String> {
    let Ok(files) = std::fs::read_dir(house.folder.path().join("spool")) else { return Vec::new() };
    let names = files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| kinds.iter().any(|kind| name.ends_with(kind))).collect()
}

async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn upstream() -> Upstream {
    Upstream::new(vec![Act::say("Noted.")])
}

/// On SQLite and on PostgreSQL: the address, whoever has to live as long, and a way to forbid labels with this word.
fn both(test: impl AsyncFn(&str, tempfile::TempDir, &dyn Fn(&str))) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.db");
    let forbid = |word: &str| {
        let trigger = format!(
            "CREATE TRIGGER forbidden BEFORE INSERT ON sessions WHEN NEW.label LIKE '%{word}%' \
             BEGIN SELECT RAISE(ABORT, 'forbidden'); END"
        );
        rusqlite::Connection::open(&file).unwrap().execute_batch(&trigger).unwrap();
    };
    run(test(&format!("sqlite:{}", file.display()), folder, &forbid));
    let postgres = server::Server::start();
    let address = postgres.database();
    let forbid = |word: &str| {
        let check =
            format!("ALTER TABLE sessions ADD CHECK (label IS NULL OR label NOT LIKE '%{word}%') NOT VALID");
        server::psql(&address, &check);
    };
    run(test(&address, tempfile::tempdir().unwrap(), &forbid));
}

#[test]
fn a_turn_that_can_never_be_recorded_is_in_nobodys_way() {
    both(async |address, folder, forbid| {
        let house = House::on(address, folder, upstream(), |_| {}).await;
        forbid("forbidden");
        let mut refused = Agent::new(&house, Dialect::Anthropic);
        let (headers, status) = refused.say("This is forbidden.").await;
        assert_eq!(status, 200);
        assert_ne!(header(&headers, "x-epitome-error"), "");
        // Nobody takes the ledger for dead because of it.
        let mut other = Agent::new(&house, Dialect::Chat);
        let (headers, status) = other.say("This is fine.").await;
        assert_eq!((status, header(&headers, "x-epitome-error")), (200, ""));
        let aside = || {
            let kept = files(&house, &[".unreadable"]).into_iter();
            let read = |name| std::fs::read_to_string(house.folder.path().join("spool").join(name)).unwrap();
            kept.map(read).collect::<Vec<String>>()
        };
        let is_answered = |kept: &String| kept.contains("This is forbidden.") && kept.contains("Noted.");
        until(|| files(&house, &[".json", ".taken"]).is_empty() && aside().iter().any(is_answered)).await;
        assert_eq!(house.counted("spool_depth").await, 0);
        assert_eq!(house.counted("spool_aside").await, 1);
        assert!(house.counted("spool_bytes").await > 0);
        let (folder, _upstream) = house.close().await;
        assert_eq!(recorded(address).await.len(), 1);
        drop(folder);
    });
}

#[test]
fn what_waits_behind_a_turn_that_can_never_be_recorded_is_recorded() {
    run(async {
        let mut postgres = server::Server::start();
        let address = postgres.database();
        let house = House::on(&address, tempfile::tempdir().unwrap(), upstream(), |_| {}).await;
        server::psql(&address, "ALTER TABLE sessions ADD CHECK (label NOT LIKE '%forbidden%')");
        postgres.kill();
        for text in ["This is forbidden.", "This is fine.", "So is this."] {
            let (headers, status) = Agent::new(&house, Dialect::Anthropic).say(text).await;
            assert_eq!(status, 200);
            assert_ne!(header(&headers, "x-epitome-error"), "");
        }
        postgres.restart();
        until(|| files(&house, &[".json", ".taken"]).is_empty()).await;
        assert_eq!(files(&house, &[".unreadable"]).len(), 1);
        let (folder, _upstream) = house.close().await;
        let all: String = recorded(&address).await.into_iter().map(|(_, whole)| whole).collect();
        assert!(all.contains("This is fine.") && all.contains("So is this."), "{all}");
        drop((folder, postgres));
    });
}

#[test]
fn what_no_text_column_can_hold_is_recorded_whole() {
    both(async |address, folder, _| {
        let house = House::on(address, folder, upstream(), |_| {}).await;
        let body = r#"{"model":"m\u0000","messages":[{"role":"user","content":"begin\u0000ning"}]}"#;
        let (headers, status, _) = house.post("/v1/messages", body).await;
        assert_eq!((status, header(&headers, "x-epitome-error")), (200, ""));
        assert_eq!(house.upstream.requests()[0].text, body);
        let (folder, _upstream) = house.close().await;
        let all = recorded(address).await;
        let [(session, whole)] = all.as_slice() else { panic!("{}", all.len()) };
        assert_eq!(session.messages, 2);
        assert!(whole.contains(r"begin\u0000ning"), "{whole}");
        drop(folder);
    });
}

#[test]
fn what_a_crash_left_behind_is_cleared_away_and_what_is_whole_in_it_is_recorded() {
    run(async {
        let house = House::new(upstream(), |_| {}).await;
        let (folder, _) = house.close().await;
        let spool = folder.path().join("spool");
        std::fs::create_dir_all(spool.join("scratch-before")).unwrap();
        std::fs::write(spool.join("scratch-before/scratch.db"), "a conversation").unwrap();
        let whole = serde_json::json!({
            "id": "whole", "tenant": epitome::TenantId::LOCAL, "dialect": Dialect::Anthropic.to_string(),
            "model": "m", "agent": "a", "name": null,
            "body": r#"{"model":"m","messages":[{"role":"user","content":"Written to its end."}]}"#,
            "reply": null,
        });
        let whole = whole.to_string();
        let before = std::time::SystemTime::now() - Duration::from_secs(600);
        for (name, content) in [("whole.draft", whole.as_str()), ("half.draft", &whole[..whole.len() / 2])] {
            std::fs::write(spool.join(name), content).unwrap();
            let file = std::fs::File::options().write(true).open(spool.join(name)).unwrap();
            file.set_modified(before).unwrap();
        }
        // Somebody may be writing this one.
        std::fs::write(spool.join("now.draft"), &whole).unwrap();
        let house = House::at(folder, upstream(), |_| {}).await;
        until(|| files(&house, &["whole.draft", "half.draft", ".json", ".taken"]).is_empty()).await;
        assert_eq!(files(&house, &[""]), ["now.draft"]);
        let all = house.recorded().await;
        assert_eq!(all.len(), 1);
        assert!(all[0].1.contains("Written to its end."));
    });
}

#[test]
fn whose_a_call_is_is_known_before_the_ledger_is_reached() {
    run(async {
        let mut postgres = server::Server::start();
        let address = postgres.database();
        postgres.kill();
        let folder = tempfile::tempdir().unwrap();
        let house = House::from(Source::At(address.clone()), folder, upstream(), |keeping| {
            keeping.tenants = Tenants::Key
        })
        .await;
        let mut agents = ["sk-first", "sk-second"].map(|key| {
            let mut agent = Agent::new(&house, Dialect::Anthropic);
            agent.headers.push(("x-api-key", key.to_owned()));
            agent
        });
        for agent in &mut agents {
            let (headers, status) = agent.say("The same words.").await;
            assert_eq!(status, 200);
            assert_ne!(header(&headers, "x-epitome-error"), "");
        }
        until(|| files(&house, &[".json"]).len() == 2).await;
        let spool = house.folder.path().join("spool");
        for name in files(&house, &[".json"]) {
            assert!(!std::fs::read_to_string(spool.join(name)).unwrap().contains("sk-"), "no key is kept");
        }
        let secrets = std::fs::metadata(house.folder.path().join("spool.secrets")).unwrap();
        assert_eq!(secrets.permissions().mode() & 0o777, 0o600);
        postgres.restart();
        until(|| house.is_reached() && files(&house, &[".json", ".taken"]).is_empty()).await;
        let mut sessions = Vec::new();
        for agent in &mut agents {
            let (headers, status) = agent.say("And more.").await;
            assert_eq!((status, header(&headers, "x-epitome-error")), (200, ""));
            sessions.push(header(&headers, "x-epitome-session").to_owned());
        }
        assert_ne!(sessions[0], sessions[1], "equal words of two customers never meet");
        let (folder, _upstream) = house.close().await;
        let counted = |what: &str| server::psql(&address, &format!("SELECT count(*) FROM {what}"));
        assert_eq!((counted("sessions").trim(), counted("messages").trim()), ("2", "8"));
        drop((folder, postgres));
    });
}

#[test]
fn what_was_told_by_another_secret_waits_until_its_client_calls_again() {
    run(async {
        let mut postgres = server::Server::start();
        let address = postgres.database();
        let folder = tempfile::tempdir().unwrap();
        let (folder, _) = House::on(&address, folder, upstream(), |_| {}).await.close().await;
        // As on another machine, which never saw the ledger.
        std::fs::remove_file(folder.path().join("spool.secrets")).unwrap();
        postgres.kill();
        let house = House::from(Source::At(address.clone()), folder, upstream(), |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        agent.headers.push(("authorization", "Bearer sk-mine".to_owned()));
        agent.say("What was said meanwhile.").await;
        let mut stranger = Agent::new(&house, Dialect::Anthropic);
        stranger.headers.push(("authorization", "Bearer sk-other".to_owned()));
        stranger.say("What somebody else said.").await;
        postgres.restart();
        until(|| house.is_reached()).await;
        let (headers, _) = agent.say("And now?").await;
        assert_eq!(header(&headers, "x-epitome-error"), "");
        until(|| files(&house, &[".json", ".taken"]).len() == 1).await;
        let left = files(&house, &[".json", ".taken"]).remove(0);
        let left = std::fs::read_to_string(house.folder.path().join("spool").join(left)).unwrap();
        assert!(left.contains("somebody else"), "{left}");
        stranger.say("And I?").await;
        until(|| files(&house, &[".json", ".taken"]).is_empty()).await;
        let (folder, _upstream) = house.close().await;
        let counted = |what: &str| server::psql(&address, &format!("SELECT count(*) FROM {what}"));
        assert_eq!((counted("sessions").trim(), counted("messages").trim()), ("2", "8"));
        drop((folder, postgres));
    });
}

#[test]
fn a_call_in_which_nobody_but_the_operator_speaks_passes_and_nothing_has_failed() {
    run(async {
        let house = House::new(upstream(), |_| {}).await;
        for (path, body) in [
            ("/v1/chat/completions", r#"{"model":"m","messages":[{"role":"system","content":"Be brief."}]}"#),
            ("/v1/responses", r#"{"model":"m","previous_response_id":"resp_1"}"#),
        ] {
            let (headers, status, answer) = house.post(path, body).await;
            assert_eq!((status, header(&headers, "x-epitome-error")), (200, ""), "{path}");
            assert!(answer.contains("Noted."), "{path}: {answer}");
            assert_eq!(house.upstream.requests().pop().unwrap().text, body);
        }
        assert_eq!(house.counted("keeper_failures_total").await, 0);
        assert!(house.recorded().await.is_empty());
    });
}
