//! The key shows nowhere: in no error, in no log line, whatever the server does with it.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use epitome_llm::{Backoff, Models, Patience, Secret};
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{APIS, KEY, call, impatient};
use crate::upstream::{Act, Reply, Upstream};

/// Everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for Log {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn no_error_and_no_log_line_holds_the_key() {
    let log = Log::default();
    let lines =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    // It serves all threads: the other tests, which use the same key, are listened to as well.
    tracing::subscriber::set_global_default(lines).unwrap();
    let echo = format!("the key {KEY} of Bearer {KEY} is wrong");
    let acts = [
        Act::say("well"),
        Act::refuse(401, "authentication_error", &echo),
        Act::refuse(500, &echo, &echo),
        Act::Refuse(400, vec![("x-echo", echo.clone())], echo.clone()),
        Act::Body("text/plain", echo.clone()),
        Act::Body("text/event-stream", format!("data: {echo}\n\n")),
        Act::Fail(Reply::new("a b c d e f"), format!("{{\"error\":{{\"message\":\"{echo}\"}}}}")),
        Act::Garbage,
        Act::Silence,
    ];
    for api in APIS {
        for act in acts.clone() {
            let upstream = Upstream::new(vec![act]);
            let client = impatient(&upstream, api, Duration::from_millis(50));
            let shown = format!("{client:?} {} {:?}", client.endpoint(), client.endpoint());
            assert!(!shown.contains(KEY), "{shown}");
            let mut once = Backoff::default();
            once.attempts = 1;
            let models = Models::with(vec![client], once, Patience::default());
            let answered = models.ask(&call()).await;
            let told = answered.as_ref().err().map(ToString::to_string);
            let shown = format!("{answered:?} {models:?} {told:?}");
            assert!(!shown.contains(KEY), "{shown}");
        }
    }
    let logged = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(logged.contains("a model did not answer") && logged.contains("hyper"), "everything is logged");
    let line = logged.lines().find(|line| line.contains(KEY));
    assert_eq!(line, None);
}

#[test]
fn a_secret_shows_as_a_marker() {
    let secret = Secret::new(KEY).unwrap();
    assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "[secret] [secret] Some([secret])");
}
