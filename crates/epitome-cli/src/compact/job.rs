//! One session and what is to be done with it.

use std::path::Path;

use anyhow::Context;
use epitome_core::compact::{Compaction, Piece, Segment, StrategyName, Stretch, View, view};
use epitome_core::loss::{self, Loss};
use epitome_core::prune::Budget;
use epitome_core::turn::is_plain_user_message;
use epitome_core::{Tokens, events};
use epitome_wire::files::{ThreadKind, Transcript};

use super::bytes::Search;
use super::history::{self, Aim, Wanted, operator, place};
use super::report::Report;
use super::show::Shown;
use super::sides::Side;
use super::usage;
use crate::args::{Compact, Messages, Show, Strategy};
use crate::changes::{Changes, ThreadChange, drop_oldest, strip_bound_thinking};
use crate::session::Session;
use crate::settings::Settings;
use crate::writers::Desk;

/// A session that was made smaller.
pub(super) struct Compacted {
    /// What is to be written.
    pub(super) text: String,
    /// What was done.
    pub(super) report: Report,
}

/// What compactions are done with.
pub(super) struct Means<'a> {
    pub(super) arguments: &'a Compact,
    pub(super) settings: &'a Settings,
    /// Where a model is asked for summaries, if one is.
    pub(super) desk: Option<Desk<'a>>,
}

/// A session and what is to be done with it.
pub(super) struct Job<'a> {
    pub(super) session: &'a Session,
    pub(super) arguments: &'a Compact,
    pub(super) settings: &'a Settings,
    desk: Option<Desk<'a>>,
    pub(super) strategy: StrategyName,
    /// The budget as it was asked for.
    pub(super) asked: Option<Tokens>,
    /// Messages to be kept, ascending.
    pub(super) pins: Vec<usize>,
}

/// Compacts a session; `budget` is what a program asked for that pipes it in.
pub(super) fn compact(
    path: &Path,
    transcript: Transcript,
    &Means { arguments, settings, desk }: &Means<'_>,
    budget: Option<Tokens>,
) -> anyhow::Result<Compacted> {
    let session = &Session::new(path, transcript, arguments.model.as_deref(), settings);
    let asked = arguments.budget.or(budget);
    let strategy = arguments.strategy.map_or(settings.values.compact.strategy, Strategy::name);
    usage::check(session, arguments, strategy)?;
    let job = Job { session, arguments, settings, desk, strategy, asked, pins: numbers(&arguments.pin) };
    // An agent's first call has nothing to compact yet.
    if session.transcript.messages.is_empty() {
        let mut report = Report::new(&job);
        report.of_nothing();
        let text = if arguments.show.is_some() { String::new() } else { session.transcript.text.clone() };
        return Ok(Compacted { text, report });
    }
    let mut compacted = if strategy.meets_budgets() { job.summarise()? } else { job.prune()? };
    job.remark(&mut compacted);
    Ok(compacted)
}

// Of two that were made for a number of bytes, the one by a model, unless it alone has too many.
fn better(offline: Compacted, mut by_model: Compacted) -> Compacted {
    if by_model.report.bytes_short() <= offline.report.bytes_short() {
        return by_model;
    }
    let Compacted { text, mut report } = offline;
    report.take_over(&mut by_model.report);
    report.note("the model's summary has too many bytes; the offline one stands in its place".to_owned());
    Compacted { text, report }
}

fn numbers(messages: &[Messages]) -> Vec<usize> {
    let mut numbers: Vec<usize> = messages.iter().flat_map(|Messages(range)| range.clone()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

impl Job<'_> {
    /// What the conversation may take, in our tokens.
    pub(super) fn budget(&self) -> Budget {
        let Self { session, arguments, asked, .. } = self;
        let tokens = asked.map(|asked| session.budget(asked));
        Budget { tokens, bytes: arguments.max_bytes, fixed: session.fixed }
    }

    fn wanted(&self) -> Wanted {
        match self.arguments.show {
            Some(what) => Wanted::Shown(what),
            None if self.arguments.dry_run => Wanted::Plan,
            None => Wanted::Session,
        }
    }

    fn prune(&self) -> anyhow::Result<Compacted> {
        let Self { session, settings, .. } = *self;
        let (mut report, budget) = (Report::new(self), self.budget());
        let mut threads = ThreadChange::all(session);
        if self.strategy == StrategyName::None {
            drop_oldest(&mut threads, settings.values.max_conversation_messages, &self.pins);
        } else {
            for change in &mut threads {
                change.prune(|path, messages| session.plan(path, messages, settings, budget));
                if change.thread.kind == ThreadKind::Main {
                    change.keep(&self.pins);
                }
                events::sending(&change.plan, settings.values.prune.warn_tokens);
            }
        }
        strip_bound_thinking(session, &mut threads);
        threads.iter().for_each(|change| report.take_in(change, settings));
        let text = Changes::of(&threads).rewrite(session).with_context(|| self.failed())?;
        report.measure(self, &text)?;
        let main = threads.iter().find(|change| change.thread.kind == ThreadKind::Main);
        let text = match (self.wanted(), main) {
            (Wanted::Session, _) | (_, None) => text,
            (wanted, Some(main)) => self.told(main, wanted, &mut report),
        };
        Ok(Compacted { text, report })
    }

    // What becomes of the main thread, side by side, and what is to be shown of it.
    fn told(&self, main: &ThreadChange<'_>, wanted: Wanted, report: &mut Report) -> String {
        let transcript = &self.session.transcript;
        let (compaction, messages) = (main.compaction(), main.messages());
        let view = view(&compaction, &main.path, messages, place(transcript.dialect));
        let stretches = self.stretches(main, &compaction, &view);
        report.side_by_side(Side::all(&stretches, messages, compaction.segments.iter().map(Some)));
        let Wanted::Shown(what) = wanted else { return String::new() };
        let changes = compaction.segments.iter().any(|segment| !matches!(segment, Segment::Verbatim { .. }));
        let loss = match changes {
            true => loss::of(&compaction, &view, &main.path, messages, &operator(transcript)),
            false => Loss::default(),
        };
        let text = Shown { compaction: Some(&compaction), view: &view, messages, loss: &loss }.text(what);
        report.lost(loss);
        text
    }

    fn stretches(&self, main: &ThreadChange<'_>, compaction: &Compaction, view: &View) -> Vec<Stretch> {
        let before = |at: usize| main.path.get(at).map_or(Tokens::ZERO, |entry| entry.outline.tokens);
        let mut after = vec![Tokens::ZERO; main.path.len()];
        for (piece, message) in view.pieces.iter().zip(view.messages(main.messages())) {
            let (at, tokens) = match piece {
                Piece::Keep(at) => (*at, before(*at)),
                Piece::Edit(at, _) => (*at, self.session.counter().message(&message)),
                Piece::New(_) => continue,
            };
            if let Some(shown) = after.get_mut(at) {
                *shown = tokens;
            }
        }
        let stretch = |segment: &Segment| {
            let range = segment.range().clone();
            let kind = match segment {
                Segment::Verbatim { .. } => "verbatim",
                Segment::Pruned { .. } => "pruned",
                Segment::Summary { .. } => "summary",
                Segment::Omitted { .. } => "omitted",
            };
            let tokens_after = after.get(range.clone()).unwrap_or_default().iter().copied().sum();
            Stretch { tokens_before: range.clone().map(before).sum(), range, kind, level: None, tokens_after }
        };
        compaction.segments.iter().map(stretch).collect()
    }

    // Summaries are planned in tokens; where the result has too many bytes, fewer of them are tried. A model is asked once,
    // when it is known how many.
    fn summarise(&self) -> anyhow::Result<Compacted> {
        let Budget { tokens, bytes: Some(limit), .. } = self.budget() else {
            return self.attempt(self.budget().tokens, self.wanted(), self.desk);
        };
        let mut best = (tokens, self.attempt(tokens, Wanted::Session, None)?);
        let beside = self.session.beside().bytes;
        let size = |compacted: &Compacted| compacted.report.bytes_sent().saturating_sub(beside);
        let room = limit.saturating_sub(beside);
        let report = &best.1.report;
        let search = Search::new(limit, beside, report.minimum_budget(), report.tokens_after());
        let Some(mut search) = search.filter(|_| size(&best.1) > room) else {
            return self.finally(best);
        };
        let mut next = search.first(size(&best.1));
        while let Some(tried) = next {
            let found = self.attempt(Some(tried), Wanted::Session, None)?;
            let bytes = size(&found);
            let better = if size(&best.1) > room {
                bytes < size(&best.1)
            } else {
                bytes <= room && bytes > size(&best.1)
            };
            if better {
                best = (Some(tried), found);
            }
            next = search.next(tried, bytes);
        }
        self.finally(best)
    }

    // What is wanted of the attempt that came nearest.
    fn finally(&self, (tokens, best): (Option<Tokens>, Compacted)) -> anyhow::Result<Compacted> {
        match (self.wanted(), self.desk) {
            (Wanted::Session, None) => Ok(best),
            (Wanted::Session, desk) => Ok(better(best, self.attempt(tokens, Wanted::Session, desk)?)),
            (wanted, desk) => self.attempt(tokens, wanted, desk),
        }
    }

    fn attempt(
        &self,
        tokens: Option<Tokens>,
        wanted: Wanted,
        desk: Option<Desk<'_>>,
    ) -> anyhow::Result<Compacted> {
        let mut report = Report::new(self);
        report.allow(tokens);
        let aim = Aim { budget: tokens, wanted, desk };
        let text = history::compact(self, &aim, &mut report).with_context(|| self.failed())?;
        match wanted {
            Wanted::Session => report.measure(self, &text)?,
            Wanted::Plan | Wanted::Shown(_) => report.as_decided(),
        }
        Ok(Compacted { text, report })
    }

    // What a user should know who asked for something that was not done to the letter.
    fn remark(&self, Compacted { text, report }: &mut Compacted) {
        if self.arguments.show == Some(Show::Checkpoint) && text.is_empty() {
            report.note("there is no summary to show".to_owned());
        }
        let path = self.session.main_path();
        let opens = |at: &usize| path.get(*at).is_some_and(|entry| is_plain_user_message(&entry.outline));
        for seal in &self.arguments.seal {
            match (*seal..path.len()).find(opens) {
                Some(at) if at == *seal => {}
                Some(at) => report.note(format!(
                    "--seal {seal} is inside an exchange: the topic ends before message {at}, where the next one starts"
                )),
                None => report.note(format!("--seal {seal} has no effect: no exchange starts after it")),
            }
        }
    }

    fn failed(&self) -> String {
        format!("cannot rewrite {}", self.session.name)
    }
}
