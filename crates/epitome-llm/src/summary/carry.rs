//! What the summary by code quotes and a model's lost or put in other words, taken over into the latter.
//!
//! The user's words come first, all of them; then names and numbers, with the lines they stand in where there is room, else
//! alone; then what else was quoted. So the model's summary says its own in the room that is left, and no less than code would.

use std::collections::HashSet;

use epitome_core::loss::{self, Sources};

use super::essentials::{Essentials, flat, has, names};
use super::job::{Job, counter};
use super::pieces::{Page, Piece, Place, USER, pieces};

/// The summary by code, as something to take from.
pub(super) struct Picked {
    essentials: Essentials,
    pieces: Vec<Piece>,
    /// What its names and numbers are worth.
    pub(super) worth: u64,
}

/// A summary with what was taken over.
pub(super) struct Carried {
    pub(super) text: String,
    pub(super) added: usize,
}

/// Words of the user's that one summary has and another has not, and how much less its names and numbers are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shortfall {
    pub(super) said: usize,
    pub(super) worth: u64,
}

impl Picked {
    /// A summary by code of this job.
    pub(super) fn of(text: &str, job: &Job<'_>) -> Self {
        let essentials = Essentials::of(&job.all());
        let earlier = flat(&job.beside.join("\n"));
        // What was a model's own once is not brought back where a model has put it otherwise since.
        let is_quoted = |piece: &Piece| essentials.say(&piece.text) || !has(&earlier, &piece.text);
        let mut pieces = pieces(text, job.request.level);
        pieces.retain(is_quoted);
        let worth = essentials.worth(text, &HashSet::new());
        Self { essentials, pieces, worth }
    }

    /// What a summary keeps less of than this one.
    pub(super) fn shortfall(&self, text: &str, job: &Job<'_>) -> Shortfall {
        let said = Page::of(text, job.request.level).said();
        let lost = self.pieces.iter().filter(|piece| self.is_users(piece) && !has(&said, &piece.text));
        let worth = self.essentials.worth(text, &HashSet::new());
        Shortfall { said: lost.count(), worth: self.worth.saturating_sub(worth) }
    }

    /// A summary with as much of this one as there is room for, the most important first.
    pub(super) fn carried_into(&self, text: &str, job: &Job<'_>) -> Carried {
        let fits = |text: &str| job.room.holds(text);
        let page = Page::of(text, job.request.level);
        let ranked = self.ranked(&page, text);
        let mut chosen = chosen(&ranked, &|pieces| fits(&page.with(pieces)));
        let fuller = page.with(&chosen);
        // Names whose lines found no room stand alone.
        let known = names(&fuller);
        let mut bare: Vec<Piece> = ranked.iter().flat_map(|piece| self.bare(piece, &known)).collect();
        // Several lines may have the same name; once is enough.
        let mut seen = HashSet::new();
        bare.retain(|name| seen.insert(name.text.clone()));
        let bare: Vec<&Piece> = bare.iter().collect();
        let fits_beside = |names: &[&Piece]| fits(&page.with(&[&chosen[..], names].concat()));
        let named = self::chosen(&bare, &fits_beside);
        chosen.extend(named);
        let added = chosen.len();
        match added {
            0 => Carried { text: text.to_owned(), added },
            _ => Carried { text: page.with(&chosen), added },
        }
    }

    fn is_users(&self, piece: &Piece) -> bool {
        match &piece.place {
            Place::Name => false,
            Place::Request(_) => true,
            Place::Line(opening) if opening == USER => true,
            _ => self.essentials.is_users(&piece.text),
        }
    }

    // What a summary has not, the user's words first, then what is worth most for its tokens.
    fn ranked<'p>(&'p self, page: &Page, text: &str) -> Vec<&'p Piece> {
        let (said, known) = (page.said(), names(text));
        let missing: Vec<&Piece> = self.pieces.iter().filter(|piece| !has(&said, &piece.text)).collect();
        let (users, others): (Vec<&Piece>, Vec<&Piece>) =
            missing.into_iter().partition(|piece| self.is_users(piece));
        let gain = |piece: &Piece| match piece.is_file() {
            true => self.essentials.worth(&piece.text, &HashSet::new()),
            false => self.essentials.worth(&piece.text, &known),
        };
        let rate = |piece: &&'p Piece| gain(piece) as f64 / (2 + counter().text(&piece.text).0) as f64;
        let mut rated: Vec<(f64, &Piece)> = others.iter().map(|piece| (rate(piece), *piece)).collect();
        rated.sort_by(|(left, _), (right, _)| right.total_cmp(left));
        let (worth, rest): (Vec<_>, Vec<_>) = rated.into_iter().partition(|(rate, _)| *rate > 0.0);
        let rest: Vec<&Piece> = rest.into_iter().map(|(_, piece)| piece).collect();
        let rest = unsaid(rest, text);
        users.into_iter().chain(worth.into_iter().map(|(_, piece)| piece)).chain(rest).collect()
    }

    fn bare(&self, piece: &Piece, known: &HashSet<String>) -> Vec<Piece> {
        let missing = names(&piece.text).into_iter().filter(|name| !known.contains(name));
        let worth = |name: &String| self.essentials.worth(name, &HashSet::new());
        let mut missing: Vec<String> = missing.filter(|name| worth(name) > 0).collect();
        missing.sort_by(|left, right| worth(right).cmp(&worth(left)).then(left.cmp(right)));
        missing.retain(|name| !name.contains(char::is_whitespace));
        missing.iter().map(|name| Piece::of(piece.entry, Place::Name, name)).collect()
    }
}

// What is said in other words already need not be said again.
fn unsaid<'p>(pieces: Vec<&'p Piece>, text: &str) -> Vec<&'p Piece> {
    const SAID: f32 = 0.6;
    let beside = [text];
    let sources = Sources { beside: &beside, ..Sources::new(&[]) };
    let texts: Vec<&str> = pieces.iter().map(|piece| piece.text.as_str()).collect();
    let said = loss::coverage(&texts, &sources);
    pieces.into_iter().zip(said).filter(|(_, said)| *said <= SAID).map(|(piece, _)| piece).collect()
}

// As many as fit, from the first on, in the order in which they stood; one that is too long is passed over.
fn chosen<'p>(ranked: &[&'p Piece], fits: &dyn Fn(&[&Piece]) -> bool) -> Vec<&'p Piece> {
    const ROUNDS: usize = 12;
    let mut chosen: Vec<&Piece> = Vec::new();
    let mut rest = ranked;
    for _ in 0..ROUNDS {
        let with = |count: usize| ordered(&chosen, rest.get(..count).unwrap_or_default());
        let (mut low, mut high) = (0, rest.len() + 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if fits(&with(middle)) { low = middle } else { high = middle }
        }
        chosen = with(low);
        rest = rest.get(low + 1..).unwrap_or_default();
        if rest.is_empty() {
            break;
        }
    }
    chosen
}

fn ordered<'p>(chosen: &[&'p Piece], more: &[&'p Piece]) -> Vec<&'p Piece> {
    let mut all: Vec<&Piece> = [chosen, more].concat();
    all.sort_by_key(|piece| piece.number);
    all
}
