//! What is measured: sizes of requests, clients at once, and which time counts. Targets take turns, because machines are noisy.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::Target;
use crate::talk::Talk;

/// One row of the table.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) name: &'static str,
    size: usize,
    clients: usize,
    each: usize,
    counts: Counts,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// The time of a whole answer, in a session that goes on.
    Whole,
    /// The same, of sessions that nobody has seen.
    FirstSeen,
    /// The time to the first byte of events.
    FirstByte,
    /// Requests in a second.
    Rate,
}

const SMALL: usize = 2_000;
const LARGE: usize = 800_000;

impl Load {
    pub(crate) const ALL: [Load; 7] = [
        Load { name: "2 KB, 1 client, p50", size: SMALL, clients: 1, each: 300, counts: Counts::Whole },
        Load {
            name: "800 KB, 1 client, p50, continued",
            size: LARGE,
            clients: 1,
            each: 40,
            counts: Counts::Whole,
        },
        Load {
            name: "800 KB, 1 client, p50, first seen",
            size: LARGE,
            clients: 1,
            each: 40,
            counts: Counts::FirstSeen,
        },
        Load {
            name: "events, first byte, 2 KB, p50",
            size: SMALL,
            clients: 1,
            each: 300,
            counts: Counts::FirstByte,
        },
        Load {
            name: "events, first byte, 800 KB continued, p50",
            size: LARGE,
            clients: 1,
            each: 40,
            counts: Counts::FirstByte,
        },
        Load {
            name: "2 KB, 32 clients, requests/s",
            size: SMALL,
            clients: 32,
            each: 60,
            counts: Counts::Rate,
        },
        Load {
            name: "800 KB, 32 clients, requests/s, continued",
            size: LARGE,
            clients: 32,
            each: 4,
            counts: Counts::Rate,
        },
    ];

    pub(crate) fn is_rate(self) -> bool {
        self.counts == Counts::Rate
    }

    /// One figure a target: milliseconds, or requests in a second.
    pub(crate) async fn measure(self, targets: &[Target], rounds: usize) -> Vec<(String, f64)> {
        let mut figures: Vec<Vec<f64>> = vec![Vec::new(); targets.len()];
        let mut clients: Vec<Vec<Talk>> = Vec::new();
        for (_, address) in targets {
            clients.push(self.clients(*address).await);
        }
        for _ in 0..rounds {
            for (talks, figures) in clients.iter_mut().zip(&mut figures) {
                self.round(talks, figures).await;
            }
        }
        let names = targets.iter().map(|(name, _)| name.clone());
        names.zip(figures.iter_mut().map(|figures| median(figures))).collect()
    }

    async fn clients(self, address: SocketAddr) -> Vec<Talk> {
        let mut talks = Vec::new();
        for _ in 0..self.clients {
            let mut talk = Talk::begin(address, self.size, self.counts == Counts::FirstByte).await;
            // Connections, caches and buffers are warm from here on.
            for _ in 0..3 {
                talk.turn().await;
            }
            talks.push(talk);
        }
        talks
    }

    async fn round(self, talks: &mut Vec<Talk>, figures: &mut Vec<f64>) {
        if self.is_rate() {
            figures.push(self.rate(talks).await);
            return;
        }
        for talk in talks {
            for _ in 0..self.each {
                if self.counts == Counts::FirstSeen {
                    talk.anew();
                }
                let (first, all) = talk.turn().await;
                let counted = if self.counts == Counts::FirstByte { first } else { all };
                figures.push(milliseconds(counted));
            }
            // So that the size stays what it is called.
            talk.anew();
            talk.turn().await;
        }
    }

    async fn rate(self, talks: &mut Vec<Talk>) -> f64 {
        let started = Instant::now();
        let running: Vec<_> = talks
            .drain(..)
            .map(|mut talk| {
                tokio::spawn(async move {
                    for _ in 0..self.each {
                        talk.turn().await;
                    }
                    talk
                })
            })
            .collect();
        for talk in running {
            talks.push(talk.await.unwrap());
        }
        (self.clients * self.each) as f64 / started.elapsed().as_secs_f64()
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
