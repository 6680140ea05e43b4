//! What a sentence says of what it is about: the value, its sort, and whether it is one.

use super::cues::Relation;
use super::relation::{Parts, lists};
use super::said::{Said, Voice};
use crate::items::{Found, Kind};

/// A value begins within so many words behind its verb.
pub(super) const NEAR: usize = 4;
/// Words for what has a value: with one of them, a name or a number is a value.
pub(super) const ROLES: &str = "name names port version address id number code email phone url link endpoint host hostname domain server \
    branch repository repo database table schema bucket region zone timezone currency language framework library editor \
    owner maintainer lead contact manager company employer team role title budget price limit quota timeout interval \
    deadline date birthday age zip postcode size maximum minimum max min threshold license licence package module \
    username user account key variable setting flag model image container cluster namespace channel queue topic \
    project app application service backend frontend client entrypoint compiler toolchain python rust node java \
    format encoding protocol password secret token credentials config address balance \
    versionsnummer adresse datenbank zweig sprache besitzer frist grenze projekt dienst \
    nom port adresse branche base langue propriétaire projet serveur \
    nombre puerto dirección rama base idioma dueño proyecto servidor";
/// Words that may stand between a verb and the value.
const LEADING: &str =
    "the a an at on to in about only actually exactly running still set as der die das auf le la el";
/// What a project is called by those who work on it.
const PROJECTS: &str = "project repo repository app application service backend frontend server client codebase site \
    website api cli library package crate product company team pipeline build ci projekt anwendung dienst projet \
    proyecto aplicación database deployment production staging";

/// What stands behind the verb of a sentence.
pub(super) struct Value<'s, 't> {
    said: &'s Said<'t>,
    parts: &'s Parts,
    /// The item that it begins with, or that stands near enough to be it.
    item: Option<&'s Found<'t>>,
}

impl<'s, 't> Value<'s, 't> {
    pub(super) fn of(said: &'s Said<'t>, parts: &'s Parts) -> Self {
        Self { said, parts, item: item(said, parts) }
    }

    /// Whether it is one that stays.
    pub(super) fn holds(&self, voice: Voice) -> bool {
        let is_named = || self.item.is_some() || self.is_proper();
        match self.parts.relation {
            Relation::Located | Relation::Served => self.is_place(voice),
            Relation::Set => self.item.is_some() || self.has_role() && self.is_proper(),
            Relation::Named => !is_clause(self.said.low(self.parts.value)) && is_named(),
            Relation::Equals => self.equals(voice),
            Relation::Uses => self.is_of_project(voice) && is_named(),
        }
    }

    fn equals(&self, voice: Voice) -> bool {
        match self.item.map(|item| item.kind) {
            Some(Kind::Url | Kind::Email | Kind::Version | Kind::Path) => true,
            Some(Kind::Error) => false,
            Some(_) => self.has_role(),
            None => {
                let short = self.said.words.len() - self.parts.value <= NEAR + 2;
                voice == Voice::User && short && self.has_role() && self.is_proper()
            }
        }
    }

    // An agent that reads code finds things in lists and calls; a place is where a person would look.
    fn is_place(&self, voice: Voice) -> bool {
        let Some(item) = self.item else { return false };
        match (voice, item.kind) {
            (Voice::User, kind) => kind != Kind::Error,
            (Voice::Agent, Kind::Url) => true,
            (Voice::Agent, Kind::Path) => item.text.contains('/'),
            (Voice::Agent, Kind::Number) => self.parts.relation == Relation::Served,
            (Voice::Agent, _) => false,
        }
    }

    fn is_of_project(&self, voice: Voice) -> bool {
        let is_we = |low: &str| voice == Voice::User && matches!(low, "we" | "wir" | "nous");
        self.said.lows(self.parts.about.clone()).any(|low| lists(PROJECTS, low) || is_we(low))
    }

    fn has_role(&self) -> bool {
        self.said.lows(self.parts.about.clone()).chain(self.first_words()).any(|low| lists(ROLES, low))
    }

    fn first_words(&self) -> impl Iterator<Item = &'s str> {
        self.said.lows(self.parts.value..(self.parts.value + 2).min(self.said.words.len()))
    }

    // A name: it begins with a capital or stands in quotation marks.
    fn is_proper(&self) -> bool {
        let at = self.parts.value;
        let skip = matches!(self.said.low(at), "the" | "a" | "an" | "to" | "by" | "in" | "on");
        let Some(word) = self.said.words.get(at + usize::from(skip)) else { return false };
        let before = self.said.text.get(..word.span.start).unwrap_or_default();
        word.capital || before.ends_with(['`', '"', '“', '\'', '«'])
    }

    /// Of several things that something is made with, each is a fact of its own: what it is called is part of what the
    /// sentence is about.
    pub(super) fn made_with(&self) -> impl Iterator<Item = &'s str> {
        let number = self.item.filter(|item| matches!(item.kind, Kind::Version | Kind::Number));
        let end = number.map_or(usize::MAX, |item| item.span.start);
        let from = (self.parts.relation == Relation::Uses).then_some(self.parts.value);
        let words = from.and_then(|at| self.said.words.get(at..)).unwrap_or_default();
        words.iter().take(2).take_while(move |word| word.span.start < end).map(|word| word.low.as_str())
    }

    /// What tells values apart that are said of one thing: its port and its path do not replace each other.
    pub(super) fn sort(&self) -> Option<&'static str> {
        if self.first_words().any(|low| matches!(low, "port" | "ports" | "puerto")) {
            return Some("port");
        }
        match (self.item.map(|item| item.kind), self.parts.relation) {
            (Some(Kind::Path), _) => Some("path"),
            (Some(Kind::Url), _) => Some("url"),
            (Some(Kind::Email), _) => Some("email"),
            (Some(Kind::Version), _) | (Some(Kind::Number), Relation::Uses) => Some("version"),
            (_, Relation::Named) => Some(naming(self.said.low(self.parts.value.saturating_sub(2)))),
            _ => None,
        }
    }
}

fn item<'s, 't>(said: &'s Said<'t>, parts: &Parts) -> Option<&'s Found<'t>> {
    // A quotation mark or another sign may stand before the first word.
    let from = said.words.get(parts.value)?.span.start.saturating_sub(3);
    let to = said.behind((parts.value + NEAR).min(said.words.len()) - 1);
    let may_follow = !matches!(parts.relation, Relation::Equals | Relation::Set);
    let leads = |item: &Found<'_>| {
        let mut before =
            said.words.iter().skip(parts.value).take_while(|word| word.span.end <= item.span.start);
        may_follow || before.all(|word| lists(LEADING, &word.low) || lists(ROLES, &word.low) || word.capital)
    };
    let fits = |item: &&Found<'_>| (from..to).contains(&item.span.start) && item.is_telling() && leads(item);
    said.items.iter().find(fits)
}

fn is_clause(low: &str) -> bool {
    lists("when with by from in before after once twice on at for as if", low)
}

fn naming(verb: &str) -> &'static str {
    match verb {
        "owned" | "maintained" | "belongs" | "gehört" | "appartient" | "pertenece" => "owner",
        _ => "name",
    }
}
