//! A loss report for people: a table, then what is lost and made up, the most important first.

use std::fmt::{self, Display};

use super::report::{Fate, Fault, Invented, Loss, Lost, Recall};

/// How many of each list are shown.
const SHOWN: usize = 12;
/// How much of a text is shown.
const LONGEST: usize = 100;

impl Loss {
    /// The report in one line.
    pub fn summary(&self) -> String {
        let count = |fate: Fate| self.count(fate);
        format!(
            "{} kept, {} in another form, {} only pointed at, {} missing, {} invented",
            count(Fate::Kept),
            count(Fate::Reworded),
            count(Fate::Recoverable),
            count(Fate::Missing),
            self.invented.len(),
        )
    }
}

impl Display for Loss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tallies.is_empty() {
            out.write_str("Everything is shown as it was.\n")?;
        } else {
            table(self, out)?;
        }
        let missing = self.count(Fate::Missing);
        list("Missing", &self.missing, missing, out)?;
        list("Only pointed at", &self.recoverable, self.count(Fate::Recoverable), out)?;
        if self.invented.is_empty() {
            return writeln!(out, "\nNothing is invented ({} claims checked).", self.claims);
        }
        writeln!(out, "\nInvented ({} in {} claims)", self.invented.len(), self.claims)?;
        self.invented.iter().take(SHOWN).try_for_each(|found| invention(found, out))?;
        more(self.invented.len(), out)
    }
}

fn table(loss: &Loss, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let row = |out: &mut fmt::Formatter<'_>, name: &str, cells: [&dyn Display; 5]| {
        let [total, kept, reworded, recoverable, missing] = cells;
        writeln!(out, "{name:<12} {total:>7} {kept:>7} {reworded:>10} {recoverable:>10} {missing:>9}")
    };
    row(out, "", [&"hidden", &"kept", &"reworded", &"pointed at", &"missing"])?;
    for tally in &loss.tallies {
        let cells: [&dyn Display; 5] =
            [&tally.total, &tally.kept, &tally.reworded, &tally.recoverable, &tally.missing];
        row(out, tally.what.as_str(), cells)?;
    }
    Ok(())
}

fn list(title: &str, losses: &[Lost], total: usize, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    if losses.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title} ({total})")?;
    for lost in losses.iter().take(SHOWN) {
        let Lost { what, text, message, role, uses, recall } = lost;
        write!(out, "  {:<10}  {}  (#{message} {role}", what.as_str(), short(text))?;
        if *uses > 1 {
            write!(out, ", {uses} times")?;
        }
        if let Some(Recall::Text(id)) = recall {
            write!(out, ", recall {id}")?;
        }
        out.write_str(")\n")?;
    }
    more(total, out)
}

fn invention(found: &Invented, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let fault = match found.fault {
        Fault::Unknown => "stands nowhere in the source",
        Fault::Changed => "is not what stands there",
        Fault::Unsupported => "nobody said so",
        Fault::Misattributed => "is not from there",
    };
    write!(out, "  {:<10}  {}: {fault}", found.what.as_str(), short(&found.text))?;
    if let Some(claimed) = found.claimed {
        write!(out, " (claimed to be of {}", claimed.role)?;
        claimed.message.map_or(Ok(()), |message| write!(out, ", #{message}"))?;
        out.write_str(")")?;
    }
    if found.text != found.claim {
        write!(out, "\n              in: {}", short(&found.claim))?;
    }
    out.write_str("\n")
}

fn more(total: usize, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    if total > SHOWN { writeln!(out, "  … and {} more", total - SHOWN) } else { Ok(()) }
}

// One line, not too long.
fn short(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
