//! A progress bar over the bytes of all files, shown on a terminal once the work has taken a second.

use std::io::{self, IsTerminal, Read};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The bar.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
}

impl Progress {
    /// A bar for so many bytes.
    pub(crate) fn new(total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {eta} left") {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now() }
    }

    /// A reader that tells the bar what it reads.
    pub(crate) fn counting<'a>(&'a self, inner: Box<dyn Read>) -> impl Read + 'a {
        Counted { inner, progress: self }
    }

    /// Prints with the bar out of the way.
    pub(crate) fn suspended<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// A line that tells what is waited for, in place of the bar.
    pub(crate) fn line(&self) -> Line {
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
            self.bar.set_style(style);
        }
        self.show();
        Line(self.bar.clone())
    }

    fn show(&self) {
        if self.bar.is_hidden() && io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            // What is read must still be worked on; the bar is to be seen meanwhile.
            self.bar.enable_steady_tick(Duration::from_millis(500));
        }
    }

    fn advance(&self, bytes: u64) {
        if self.started.elapsed() > Duration::from_secs(1) {
            self.show();
        }
        self.bar.inc(bytes);
    }
}

/// A line in place of the bar. Clones are the same line.
#[derive(Clone)]
pub(crate) struct Line(ProgressBar);

impl Line {
    /// Says this from now on.
    pub(crate) fn say(&self, words: String) {
        self.0.set_message(words);
    }
}

struct Counted<'a> {
    inner: Box<dyn Read>,
    progress: &'a Progress,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.progress.advance(count as u64);
        Ok(count)
    }
}
