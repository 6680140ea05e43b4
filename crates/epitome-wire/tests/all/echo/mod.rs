//! Replies that come back from clients: the same in other words of theirs, and others.

mod changed;
mod cut;
mod habits;
mod properties;

use epitome_wire::Dialect;
use epitome_wire::echo::{Echo, echo_of};
use serde_json::Value;

/// Finds a reply in what was sent, where a message of the user's follows.
fn find(dialect: Dialect, reply: &[Value], sent: &[Value]) -> Option<Echo> {
    let written = |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>();
    let (reply, mut sent) = (written(reply), written(sent));
    sent.push(r#"{"role":"user","content":"go on"}"#.to_owned());
    let reply: Vec<&str> = reply.iter().map(String::as_str).collect();
    let sent: Vec<&str> = sent.iter().map(String::as_str).collect();
    echo_of(dialect, &reply, &sent)
}
