//! Thousands of sessions whose server misbehaves: each is compacted several times over, and goes on.
//!
//! A schedule follows from its number. `EPITOME_STORM=NUMBER` runs that one alone, `EPITOME_STORMS=COUNT` another number of them.

mod clock;
mod run;
mod session;
mod weather;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use self::run::{Bench, MEETS, Tally, run};
use self::weather::{Sky, Weather};
use crate::summary::runtime;
use crate::support::{APIS, client};
use crate::upstream::Upstream;

/// So many schedules are run.
const SCHEDULES: u64 = 5_000;
/// So many at the same time.
const THREADS: usize = 4;

fn bench() -> Bench {
    let sky: Sky = Arc::new(Mutex::new(Weather::new(0, 0, "")));
    let seen = Arc::clone(&sky);
    let upstream = Upstream::scripted(move |_, request| seen.lock().unwrap().act(request));
    let clients = APIS.iter().map(|api| client(&upstream, api)).collect();
    Bench { _upstream: upstream, sky, runtime: runtime(), clients }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn every_session_goes_on() {
    let only = number("EPITOME_STORM");
    let seeds = only.map_or(0..number("EPITOME_STORMS").unwrap_or(SCHEDULES), |seed| seed..seed + 1);
    let next = AtomicU64::new(seeds.start);
    let (tally, failed): (Mutex<Tally>, Mutex<Vec<(u64, String)>>) = Default::default();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let bench = bench();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || !failed.lock().unwrap().is_empty() {
                        break;
                    }
                    match run(seed, &bench) {
                        Ok(one) => {
                            let mut tally = tally.lock().unwrap();
                            one.into_iter()
                                .for_each(|(name, count)| *tally.entry(name).or_default() += count);
                        }
                        Err(error) => failed.lock().unwrap().push((seed, error)),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    if let Some((seed, error)) = failed.iter().min_by_key(|(seed, _)| *seed) {
        panic!("run it alone with EPITOME_STORM={seed}: {error}");
    }
    let tally = tally.into_inner().unwrap();
    println!("{} schedules: {tally:?}", seeds.end - seeds.start);
    // A storm that leaves out a way to a summary says nothing about it.
    let often = |name: &&str| tally.get(*name).copied().unwrap_or_default() as u64 * 100;
    let rare = MEETS.iter().find(|name| often(name) < seeds.end - seeds.start);
    assert!(only.is_some() || rare.is_none(), "{rare:?} is not met");
}
