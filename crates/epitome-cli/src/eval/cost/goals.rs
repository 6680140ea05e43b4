//! The goals, and whether they are met.

use std::time::Duration;

use serde::Serialize;

use super::contender::Contender;
use super::report::{Cell, LONG, Report, Row};
use crate::print::{count, grouped};

/// A goal and what was measured.
#[derive(Serialize)]
pub(super) struct Goal {
    /// What is wanted.
    pub(super) goal: String,
    /// What there is.
    pub(super) measured: String,
    /// Whether it is met; nobody knows where there is nothing to measure.
    pub(super) met: Option<bool>,
}

/// All goals.
pub(super) fn of(report: &Report) -> Vec<Goal> {
    vec![overflows(report), latency(report), half(report), never_dearer(report)]
}

fn overflows(report: &Report) -> Goal {
    let calls: u64 = report
        .all
        .iter()
        .zip(Contender::ALL)
        .filter(|(_, contender)| contender.keeps_within())
        .map(|(cell, _)| cell.bill.calls)
        .sum();
    Goal {
        goal: "no call of threshold and auto exceeds the window".to_owned(),
        measured: format!("{} of {}", grouped(report.overflows), count(calls, "call")),
        met: Some(report.overflows == 0),
    }
}

fn latency(report: &Report) -> Goal {
    let told = |times: &[Duration]| match (at(times, 0.5), at(times, 0.95)) {
        (Some(median), Some(most)) => format!("p50 {}, p95 {}", millis(median), millis(most)),
        _ => "none".to_owned(),
    };
    let slowest = at(&report.waits, 0.95).max(at(&report.background, 0.95));
    Goal {
        goal: "compactions take less than 1 s at p95, without the time of a model".to_owned(),
        measured: format!(
            "{} that a call waited for: {}; {} in the background: {}",
            report.waits.len(),
            told(&report.waits),
            report.background.len(),
            told(&report.background),
        ),
        met: slowest.map(|slowest| slowest < Duration::from_secs(1)),
    }
}

fn half(report: &Report) -> Goal {
    let auto = report.long.get(Contender::Auto.place());
    let sessions = report.sessions.iter().filter(|row| row.tokens > LONG).count();
    Goal {
        goal: format!(
            "auto costs at most half of sending everything in sessions beyond {} tokens",
            grouped(LONG.0)
        ),
        measured: match auto {
            Some(cell) => format!("{:.3} × in {}", cell.of_full, count(sessions as u64, "session")),
            None => "no such session".to_owned(),
        },
        met: auto.map(|cell| cell.of_full <= 0.5),
    }
}

fn never_dearer(report: &Report) -> Goal {
    let full = |row: &Row| row.cell(Contender::Full).map(|cell| cell.bill.sent());
    let dearer = |row: &&Row| row.cell(Contender::Auto).map(|cell| cell.bill.sent()) > full(row);
    let share = |row: &Row| row.cell(Contender::Auto).map_or(1.0, |cell: &Cell| cell.of_full);
    let worst = report.sessions.iter().max_by(|left, right| share(left).total_cmp(&share(right)));
    let dearer = report.sessions.iter().filter(dearer).count();
    let worst = worst.map(|row| format!("; at worst {:.3} × in {}", share(row), row.session));
    Goal {
        goal: "auto costs more than sending everything in no session".to_owned(),
        measured: format!(
            "{dearer} of {}{}",
            count(report.sessions.len() as u64, "session"),
            worst.unwrap_or_default()
        ),
        met: Some(dearer == 0),
    }
}

// The value below which this share of sorted values lies.
fn at(sorted: &[Duration], share: f64) -> Option<Duration> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last as f64 * share).ceil() as usize).copied()
}

fn millis(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}
