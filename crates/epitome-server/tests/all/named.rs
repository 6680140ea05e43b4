//! `x-epitome-session` decides where a conversation goes on; a name that stands for nothing is told of, and does no harm.

use epitome::Dialect;
use epitome_server::Tenants;

use crate::house::{Agent, House, header};
use crate::support::run;
use crate::upstream::{Act, Upstream};

async fn house(tenants: Tenants) -> House {
    House::new(Upstream::new(vec![Act::say("Noted.")]), |keeping| keeping.tenants = tenants).await
}

fn id(headers: &reqwest::header::HeaderMap) -> String {
    header(headers, "x-epitome-session").to_owned()
}

// An agent with this key, and with the history of another one, that names a session.
fn naming(house: &House, key: &str, like: &Agent, session: &str) -> Agent {
    let mut agent = Agent::new(house, Dialect::Anthropic);
    agent.history.clone_from(&like.history);
    agent.headers.push(("x-api-key", key.to_owned()));
    agent.headers.push(("x-epitome-session", session.to_owned()));
    agent
}

fn keyed(house: &House, key: &str) -> Agent {
    let mut agent = Agent::new(house, Dialect::Anthropic);
    agent.headers.push(("x-api-key", key.to_owned()));
    agent
}

#[test]
fn a_conversation_goes_on_in_the_session_that_is_named_though_another_one_knows_more_of_it() {
    run(async {
        let house = house(Tenants::One).await;
        let mut first = keyed(&house, "k");
        first.say("Question 0.").await;
        let (named, _) = first.say("Question 1.").await;
        // Another session opens alike, and knows all of what follows.
        let mut other = keyed(&house, "k");
        other.headers.push(("session_id", "another".to_owned()));
        for number in [0, 2, 3, 4] {
            other.say(&format!("Question {number}.")).await;
        }
        let mut back = naming(&house, "k", &other, &id(&named));
        let (forked, _) = back.say("And now?").await;
        assert_eq!(header(&forked, "x-epitome-error"), "");
        // Whoever goes on naming the same session goes on in its fork, and does not leave it again and again.
        for number in 0..2 {
            let (on, _) = back.say(&format!("And {number}?")).await;
            assert_eq!((id(&on), header(&on, "x-epitome-error")), (id(&forked), ""), "{number}");
        }
        let mut on = naming(&house, "k", &first, &id(&named));
        let (on, _) = on.say("Question 9.").await;
        assert_eq!(id(&on), id(&named), "it stands where it was left");
        let all = house.recorded().await;
        let fork = all.iter().find(|(session, _)| session.id.to_string() == id(&forked)).unwrap();
        assert_eq!(fork.0.origin.as_ref().unwrap().session.to_string(), id(&named));
        assert!(fork.1.contains("Question 4.") && fork.1.contains("And 1?"));
        assert_eq!(all.len(), 3);
    });
}

#[test]
fn a_name_that_stands_for_nothing_is_told_of_and_what_was_said_decides() {
    run(async {
        let house = house(Tenants::Key).await;
        let mut owner = keyed(&house, "k-one");
        owner.say("Question 0.").await;
        let (theirs, _) = owner.say("Question 1.").await;
        let unknown = "01890a5d-ac96-774b-bcce-b302099a8057";
        let told = |headers: &reqwest::header::HeaderMap| {
            header(headers, "x-epitome-error").replace(&id(&theirs), "ID").replace(unknown, "ID")
        };
        // A session of somebody else is as unknown as one that never was, whatever is said.
        let mut errors = Vec::new();
        for session in [unknown, &id(&theirs)] {
            let mut stranger = naming(&house, &format!("k-{session}"), &owner, session);
            let (headers, status) = stranger.say("Question 2.").await;
            assert_eq!(status, 200);
            assert_ne!(id(&headers), id(&theirs));
            errors.push(told(&headers));
            // It does not begin anew with every call.
            let (on, _) = stranger.say("Question 3.").await;
            assert_eq!(id(&on), id(&headers));
        }
        assert!(errors[0].contains("session ID is not known"), "{errors:?}");
        assert_eq!(errors[0], errors[1], "nothing tells that it is there");
        // One of the client's own that has nothing of the conversation.
        let mut other = naming(&house, "k-one", &Agent::new(&house, Dialect::Anthropic), &id(&theirs));
        let (new, _) = other.say("Something else.").await;
        assert_eq!(told(&new), errors[0]);
        assert_ne!(id(&new), id(&theirs));
        let (on, _) = other.say("And on.").await;
        assert_eq!(id(&on), id(&new));
    });
}
