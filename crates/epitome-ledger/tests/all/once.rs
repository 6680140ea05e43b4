//! The same conversation, recorded by several at once: one session.

use std::sync::Arc;

use epitome_ledger::model::{ChainHash, KnownPrefix, NewSession, NewTurn, Opening, SessionFilter, TurnId};
use epitome_ledger::{Ledger, LedgerError, Paging};
use tokio::sync::Barrier;

use crate::support::*;

on_both!(
    of_those_who_found_nothing_one_opens_a_session,
    of_those_who_found_the_same_beginning_one_forks,
    what_was_known_before_keeps_nobody_from_recording_it_again,
);

/// A conversation of these words, question and answer in turn.
fn conversation(words: &[&str]) -> (Vec<NewTurn>, Vec<ChainHash>) {
    let turns: Vec<NewTurn> = words.chunks(2).map(|pair| call(pair[0], pair[1])).collect();
    let messages =
        turns.iter().flat_map(|turn| turn.input.iter().chain(&turn.reply.as_ref().unwrap().messages));
    let chains = ChainHash::along(messages.map(|message| &message.digest));
    (turns, chains)
}

fn opening(words: &[&str], known: Option<KnownPrefix>) -> Opening {
    let (turns, chains) = conversation(words);
    let at: Option<TurnId> = known.as_ref().map(|known| known.places[0].turn);
    let shared = known.as_ref().map_or(0, |known| known.messages as usize / 2);
    Opening { at, session: NewSession::of("agent"), turns: turns[shared..].to_vec(), chains, known }
}

/// Eight tasks on two ledgers look for a conversation, and record it when all have looked.
async fn race(place: &Place, words: &'static [&'static str]) -> Vec<Result<u64, LedgerError>> {
    let ledgers = [place.open().await, place.open().await];
    let barrier = Arc::new(Barrier::new(8));
    let tasks = (0..8).map(|number| {
        let (ledger, barrier) = (ledgers[number % 2].clone(), Arc::clone(&barrier));
        tokio::spawn(async move {
            let known = ledger.find_prefix(ME, conversation(words).1).await.unwrap();
            barrier.wait().await;
            ledger.begin_once(ME, opening(words, known)).await.map(|receipt| receipt.messages)
        })
    });
    let mut results = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        results.push(task.await.unwrap());
    }
    for ledger in ledgers {
        ledger.close().await;
    }
    results
}

async fn sessions(ledger: &Ledger) -> usize {
    ledger.sessions(ME, SessionFilter::default(), Paging::first(100)).await.unwrap().items.len()
}

fn check(results: &[Result<u64, LedgerError>], messages: u64) {
    assert_eq!(results.iter().filter(|result| matches!(result, Ok(found) if *found == messages)).count(), 1);
    let late = |result: &&Result<u64, LedgerError>| matches!(result, Err(LedgerError::Overtaken { messages: found }) if *found == messages);
    assert_eq!(results.iter().filter(late).count(), 7, "{results:?}");
}

async fn of_those_who_found_nothing_one_opens_a_session(place: Place) {
    let results = race(&place, &["hello", "hi", "how are you?", "well"]).await;
    check(&results, 4);
    let ledger = place.open().await;
    assert_eq!(sessions(&ledger).await, 1);
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
    ledger.close().await;
}

async fn of_those_who_found_the_same_beginning_one_forks(place: Place) {
    let ledger = place.open().await;
    let (turns, _) = conversation(&["hello", "hi", "one", "way"]);
    ledger.begin(ME, None, NewSession::of("agent"), turns).await.unwrap();
    let results = race(&place, &["hello", "hi", "another", "way"]).await;
    check(&results, 4);
    assert_eq!(sessions(&ledger).await, 2);
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
    ledger.close().await;
}

async fn what_was_known_before_keeps_nobody_from_recording_it_again(place: Place) {
    let ledger = place.open().await;
    let words = ["hello", "hi"];
    let known = |ledger: Ledger| async move { ledger.find_prefix(ME, conversation(&words).1).await.unwrap() };
    let again = |known| Opening { at: None, turns: conversation(&words).0, ..opening(&words, known) };
    ledger.begin_once(ME, again(None)).await.unwrap();
    // A writer who has its reasons may say so.
    let seen = known(ledger.clone()).await;
    ledger.begin_once(ME, again(seen.clone())).await.unwrap();
    let late = ledger.begin_once(ME, again(seen)).await;
    assert!(matches!(late, Err(LedgerError::Overtaken { messages: 2 })), "{late:?}");
    // What only opens alike is in nobody's way.
    let seen = known(ledger.clone()).await;
    ledger.begin_once(ME, opening(&["hello", "hi", "something", "else"], seen.clone())).await.unwrap();
    ledger.begin_once(ME, opening(&["hello", "hi", "anything", "new"], seen)).await.unwrap();
    assert_eq!(sessions(&ledger).await, 4);
    ledger.close().await;
}
