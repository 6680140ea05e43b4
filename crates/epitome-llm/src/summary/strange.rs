//! Orders in a model's words that nobody gave, or that only a tool gave.
//!
//! Code sets the user's orders beside a model's words as they were said. So an order of which the messages say little is worth nothing
//! where it was put in other words, and does harm where it was made up: it goes. So does what a tool's output tells whoever reads it
//! to do, where the model passes it on as if it were to be done.

use epitome_core::loss::{self, Overheard, Sources};
use epitome_core::statements::{self, Kind};

/// Of an order, this part must stand together in the messages.
const LEAST: f32 = 0.6;

/// How sentences begin that tell whoever reads them what to do.
const COMMANDS: &str = "ignore |disregard |forget |obey |override |reveal |never |always |do not |don't |stop |make sure|be sure |\
    ensure |from now on|you must |you should |you shall |you have to |you may |you are allowed|you are now |i allow you|\
    ignoriere |vergiss |du musst |sie müssen |oublie |oubliez |ignorez |tu dois |vous devez |ignora |olvida |debes |忽略|无视|無視|忘记|忘れ";

/// A text without such orders, and how many there were.
pub(super) fn struck(text: &str, sources: &Sources<'_>) -> (String, usize) {
    let orders = |line: &str| -> Vec<String> {
        let all = statements::read(line).into_iter();
        all.filter(|said| said.kind == Kind::Constraint).map(|said| said.text.to_owned()).collect()
    };
    let given: Vec<String> = text.lines().flat_map(orders).collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let said = loss::coverage(&given, sources);
    let strange: Vec<&str> =
        given.into_iter().zip(said).filter(|(_, said)| *said < LEAST).map(|(order, _)| order).collect();
    let mut overheard = loss::overheard(text, sources);
    overheard.retain(|said| commands(said.text));
    let count = strange.len() + overheard.len();
    if count == 0 {
        return (text.to_owned(), 0);
    }
    let mut kept = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        // The same words may be quoted elsewhere, as a tool's.
        let here = |said: &&Overheard<'_>| said.line.start == start;
        let these = overheard.iter().filter(here).map(|said| said.text).chain(strange.iter().copied());
        kept.extend(without(line, these));
        start += line.len() + 1;
    }
    (kept.join("\n"), count)
}

fn commands(sentence: &str) -> bool {
    let sentence = sentence.trim_start_matches(|start: char| !start.is_alphanumeric()).to_lowercase();
    let bare = ["please ", "now "].iter().find_map(|word| sentence.strip_prefix(word)).unwrap_or(&sentence);
    COMMANDS.split('|').any(|command| bare.starts_with(command))
}

// A line without these; nothing where no word is left of it, or only who or what was going to be told.
fn without<'o>(line: &str, strange: impl Iterator<Item = &'o str>) -> Option<String> {
    let rest = strange.fold(line.to_owned(), |line, order| line.replace(order, ""));
    let is_left = rest == line || rest.chars().any(char::is_alphabetic) && !rest.trim_end().ends_with(':');
    is_left.then(|| rest.trim_end().to_owned())
}
