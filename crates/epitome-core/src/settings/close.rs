//! What was meant by a name that nothing has.

use super::SETTINGS;

/// The setting that was probably meant.
pub(super) fn closest(key: &str) -> Option<&'static str> {
    let key = key.strip_prefix("EPITOME_").unwrap_or(key).to_ascii_lowercase().replace('-', "_");
    let names = SETTINGS.iter().flat_map(|setting| {
        let aliases = setting.aliases.iter().map(|alias| (alias.to_ascii_lowercase(), setting.name));
        aliases.chain([(setting.name.to_owned(), setting.name)])
    });
    names
        .map(|(written, name)| (distance(&key, &written), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein's distance, one row at a time.
pub(crate) fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, from) in left.bytes().enumerate() {
        let mut diagonal = line;
        let mut before = line + 1;
        for (cell, to) in row.iter_mut().skip(1).zip(right.bytes()) {
            let best = (diagonal + usize::from(from != to)).min(*cell + 1).min(before + 1);
            diagonal = std::mem::replace(cell, best);
            before = best;
        }
        if let Some(first) = row.first_mut() {
            *first = line + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}
