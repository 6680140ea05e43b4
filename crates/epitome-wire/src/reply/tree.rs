//! JSON that grows piece by piece, as the deltas of a stream bring it.
//!
//! A string is held as it was escaped: to join two of them is to join what they say, even where a provider splits a surrogate
//! pair between two events. Numbers keep their spelling, and members their order.

use crate::json::{JsonError, Kind, Span, mended, quote, string};
use crate::node::Node;

/// Values nested deeper than this are taken as they are written.
const DEEPEST: usize = 64;

/// Members that name or classify: a later one repeats the first and does not continue it.
const REPEATED: [&str; 5] = ["index", "type", "id", "format", "role"];

/// A JSON value that grows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    /// A string, escaped, without its quotes.
    Text(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
    /// Anything else, as written.
    Other(String),
}

impl Tree {
    pub(super) fn of(node: Node<'_>) -> Result<Self, JsonError> {
        Self::at_depth(node, DEEPEST)
    }

    /// The tree of JSON that may as well be none.
    pub(super) fn read(json: &str) -> Option<Self> {
        Self::of(Node::new(json, crate::json::check(json).ok()?)).ok()
    }

    pub(super) fn null() -> Self {
        Tree::Other("null".to_owned())
    }

    pub(super) fn text(text: &str) -> Self {
        let quoted = quote(text);
        Tree::Text(inside(&quoted).to_owned())
    }

    fn at_depth(node: Node<'_>, deepest: usize) -> Result<Self, JsonError> {
        let raw = node.raw();
        let Some(left) = deepest.checked_sub(1) else { return Ok(Tree::Other(raw.to_owned())) };
        if node.kind() == Some(Kind::String) {
            return Ok(Tree::Text(inside(raw).to_owned()));
        }
        if let Some(elements) = node.array()? {
            let elements = elements.into_iter().map(|element| Self::at_depth(element, left));
            return Ok(Tree::Array(elements.collect::<Result<_, _>>()?));
        }
        let Some(object) = node.object()? else { return Ok(Tree::Other(raw.to_owned())) };
        let mut tree = Tree::Object(Vec::new());
        for (key, member) in object.members() {
            tree.set(key, Self::at_depth(member, left)?);
        }
        Ok(tree)
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Tree::Other(raw) if raw == "null")
    }

    /// Whether it says nothing: null, an empty string or an empty list.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Tree::Text(text) => text.is_empty(),
            Tree::Array(elements) => elements.is_empty(),
            _ => self.is_null(),
        }
    }

    /// What the string says, if it is one.
    pub(super) fn string(&self) -> Option<String> {
        let Tree::Text(escaped) = self else { return None };
        if !escaped.contains('\\') {
            return Some(escaped.clone());
        }
        let quoted = format!("\"{escaped}\"");
        string(&quoted, Span { start: 0, end: quoted.len() }).ok().map(|text| text.into_owned())
    }

    pub(super) fn get(&self, key: &str) -> Option<&Tree> {
        let Tree::Object(members) = self else { return None };
        members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Tree> {
        let Tree::Object(members) = self else { return None };
        members.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Its `type`, which providers write without escapes; empty where there is none.
    pub(super) fn tag(&self) -> &str {
        match self.get("type") {
            Some(Tree::Text(tag)) => tag,
            _ => "",
        }
    }

    pub(super) fn string_of(&self, key: &str) -> Option<String> {
        self.get(key)?.string()
    }

    /// Sets a member, in its place or behind all others.
    pub(super) fn set(&mut self, key: &str, value: Tree) {
        if let Some(old) = self.get_mut(key) {
            *old = value;
        } else if let Tree::Object(members) = self {
            members.push((key.to_owned(), value));
        }
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Tree> {
        let Tree::Object(members) = self else { return None };
        let at = members.iter().position(|(name, _)| name == key)?;
        Some(members.remove(at).1)
    }

    /// Continues the string under `key`.
    pub(super) fn append(&mut self, key: &str, more: Tree) {
        match self.get_mut(key) {
            Some(old) => old.grow(more),
            None => self.set(key, more),
        }
    }

    /// Adds a value to the list under `key`.
    pub(super) fn push(&mut self, key: &str, value: Tree) {
        match self.get_mut(key) {
            Some(Tree::Array(elements)) => elements.push(value),
            _ => self.set(key, Tree::Array(vec![value])),
        }
    }

    /// Takes the members of a delta over: new ones as they are, known ones as [`Tree::grow`] says.
    pub(super) fn merge(&mut self, delta: Tree) {
        let Tree::Object(members) = delta else { return };
        for (key, more) in members {
            match self.get_mut(&key) {
                Some(old) if !old.is_null() && REPEATED.contains(&key.as_str()) => {}
                Some(old) => old.grow(more),
                None => self.set(&key, more.begun()),
            }
        }
    }

    /// Strings and lists are continued, members merged, numbers replaced. Null says nothing.
    fn grow(&mut self, more: Tree) {
        match (&mut *self, more) {
            (_, more) if more.is_null() => {}
            (old, more) if old.is_null() => *self = more.begun(),
            (Tree::Text(text), Tree::Text(more)) => text.push_str(&more),
            (Tree::Object(_), more @ Tree::Object(_)) => self.merge(more),
            (Tree::Array(elements), Tree::Array(more)) => {
                more.into_iter().for_each(|more| add(elements, more));
            }
            (Tree::Other(_), more @ Tree::Other(_)) => *self = more,
            _ => {}
        }
    }

    // One event can hold several fragments of the same element.
    fn begun(self) -> Self {
        let Tree::Array(fragments) = self else { return self };
        let mut elements = Vec::with_capacity(fragments.len());
        fragments.into_iter().for_each(|fragment| add(&mut elements, fragment));
        Tree::Array(elements)
    }

    pub(super) fn write(&self, out: &mut String) {
        match self {
            Tree::Text(text) => {
                out.push('"');
                out.push_str(&mended(text));
                out.push('"');
            }
            Tree::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    element.write(out);
                }
                out.push(']');
            }
            Tree::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    out.push_str(&quote(key));
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
            Tree::Other(raw) => out.push_str(raw),
        }
    }

    pub(super) fn json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }
}

// Elements with an index are continued by later ones of the same index; all others are new.
fn add(elements: &mut Vec<Tree>, more: Tree) {
    let index = more.get("index").filter(|index| !index.is_null());
    let known =
        index.and_then(|index| elements.iter().position(|element| element.get("index") == Some(index)));
    match known.and_then(|at| elements.get_mut(at)) {
        Some(element) => element.merge(more),
        None => elements.push(more),
    }
}

fn inside(quoted: &str) -> &str {
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default()
}
