//! The words that something is about, in the form in which two findings are compared.

use std::collections::BTreeSet;

use super::rivals;
use super::said::{Voice, is_unspaced};

/// Words that say nothing about what is meant, by language.
const EMPTY: &str = "the a an of for in on at to by with from and or is are was were be been it its this that these those as \
    into onto our we us i me you they he she his her their will would should can could must may might do does did done \
    not no never always only just also please so then than too very all any every each some own use used uses using \
    go goes going let let's lets have has had i'll i'd i'm we'll we're want like love hate dislike prefer prefers \
    decide decided decision agreed agree chose choose chosen opted settled stick keep make sure don't dont doesn't \
    isn't avoid stop refrain instead now here there when whenever before after again future forward because since actually \
    there's until without but if about what which who how even still same try tries trying tried hasn't didn't wasn't won't can't \
    haven't aren't thought wait over both call called named name's ok okay yes remember note mind fyi switch switched switching move moved \
    der die das den dem des ein eine einen einem einer und oder ist sind war wird in im auf unter an am zu zum zur von \
    mit für bei wir uns unser unsere ich mich mir du sie es nicht kein keine keinen nie niemals immer nur auch bitte \
    als statt anstatt jetzt künftig ab verwende verwenden verwendet benutze nutze nutzen nehmen nimm entschieden beschlossen entscheidung uns haben hat habe lieber \
    le la les un une des du de d'un et ou est sont était dans sur pour par avec nous notre on je j'ai tu vous ne pas \
    jamais toujours plus au aux en utilise utilisons utilisez utiliser avons décidé préfère désormais \
    el los las una unos y o es son está están era del al para por con nuestro nuestra nosotros yo tú usted no nunca \
    siempre más usa usar usamos usaremos vamos hemos decidido prefiero ahora";

/// Words for the sort of value that follows; the value says it better.
const GENERIC: [&str; 19] = [
    "file",
    "files",
    "path",
    "location",
    "directory",
    "folder",
    "dir",
    "datei",
    "ordner",
    "verzeichnis",
    "pfad",
    "fichier",
    "dossier",
    "chemin",
    "archivo",
    "carpeta",
    "ruta",
    "located",
    "stored",
];

/// Different words for one thing.
const SAME: &[(&str, &str)] = &[
    ("db", "database"),
    ("datenbank", "database"),
    ("repo", "repository"),
    ("configuration", "config"),
    ("settings", "config"),
    ("konfiguration", "config"),
    ("docs", "documentation"),
    ("emojis", "emoji"),
    ("e-mail", "email"),
    ("mail", "email"),
    ("my", "user"),
    ("mein", "user"),
    ("meine", "user"),
    ("mon", "user"),
    ("ma", "user"),
    ("mi", "user"),
    ("replies", "answer"),
    ("reply", "answer"),
    ("respond", "answer"),
    ("response", "answer"),
    ("responses", "answer"),
    ("antworte", "answer"),
    ("antworten", "answer"),
    ("réponds", "answer"),
    ("répondez", "answer"),
    ("responde", "answer"),
    ("contesta", "answer"),
    ("puerto", "port"),
    ("dependencies", "dependency"),
];

/// Words that are dropped from a subject, and why they may be.
pub(super) fn is_empty(low: &str) -> bool {
    EMPTY.split_ascii_whitespace().any(|empty| empty == low)
}

pub(super) fn is_generic(low: &str) -> bool {
    GENERIC.contains(&low)
}

/// The words of a text that mean something, each in the form in which it is compared.
pub(super) fn stems<'w>(words: impl Iterator<Item = &'w str>, voice: Voice) -> BTreeSet<String> {
    words.filter(|low| !is_empty(low)).filter_map(|low| stem(low, voice)).collect()
}

fn stem(low: &str, voice: Voice) -> Option<String> {
    if low.chars().any(is_unspaced) {
        let bare: String =
            low.chars().filter(|letter| letter.is_alphanumeric() && !matches!(letter, '的' | 'の')).collect();
        return (!bare.is_empty()).then_some(bare);
    }
    // Whose it is depends on who says so: what the user calls mine the assistant calls yours.
    match (low, voice) {
        ("your", Voice::Agent) => return Some("user".to_owned()),
        ("your" | "my", _) if voice == Voice::Agent => return None,
        ("your", Voice::User) => return None,
        _ => {}
    }
    let low = low.strip_suffix("'s").unwrap_or(low);
    let elided = |prefix: &&str| ["d", "l", "n", "j", "s", "c", "qu"].contains(prefix);
    let low = low.split_once('\'').filter(|(prefix, _)| elided(prefix)).map_or(low, |(_, rest)| rest);
    if is_empty(low) {
        return None;
    }
    if let Some((_, same)) = SAME.iter().find(|(word, _)| *word == low) {
        return Some((*same).to_owned());
    }
    let is_name = low.contains(|letter: char| !letter.is_alphabetic());
    let bare = if is_name { low } else { ending(low) };
    Some(SAME.iter().find(|(word, _)| *word == bare).map_or(bare, |(_, same)| same).to_owned())
}

fn ending(low: &str) -> &str {
    const SHORTEST: usize = 4;
    let cut = ["ing", "ed", "s"].iter().find_map(|ending| {
        let stem = low.strip_suffix(ending)?;
        // "access", "status" and "analysis" are no plurals.
        (*ending != "s" || !stem.ends_with(['s', 'u', 'i'])).then_some(stem)
    });
    cut.filter(|stem| stem.chars().count() >= SHORTEST).unwrap_or(low)
}

/// The subject of these words and of what else is known of it; rivals give way to what they are rivals in.
pub(super) fn subject<'w>(words: impl Iterator<Item = &'w str>, extra: Option<&str>, voice: Voice) -> String {
    let words: Vec<&str> = words.collect();
    let mut found = BTreeSet::new();
    let rivals: Vec<(&str, &str)> = rivals::among(&words);
    let left = words.iter().copied().filter(|word| !rivals.iter().any(|(rival, _)| rival == word));
    found.extend(stems(left, voice));
    found.extend(rivals.iter().map(|(_, group)| (*group).to_owned()));
    found.extend(extra.map(str::to_owned));
    found.into_iter().collect::<Vec<_>>().join(" ")
}
