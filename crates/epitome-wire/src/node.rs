//! Reading JSON values by position: a value, and an object whose fields are taken one by one.
//!
//! What a decoder does not take is left over as [`Fields`], as written. Nothing here knows a dialect.

use std::borrow::Cow;

use epitome_core::{Fields, Opaque, RawJson, Role};

use crate::json::{JsonError, Kind, Span, elements, members, string};

/// A JSON value where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a> {
    text: &'a str,
    pub(crate) span: Span,
}

impl<'a> Node<'a> {
    pub(crate) fn new(text: &'a str, span: Span) -> Self {
        Self { text, span }
    }

    pub(crate) fn raw(&self) -> &'a str {
        self.span.of(self.text)
    }

    pub(crate) fn raw_json(&self) -> RawJson {
        RawJson::new(self.raw())
    }

    pub(crate) fn kind(&self) -> Option<Kind> {
        Kind::of(self.raw())
    }

    pub(crate) fn is_null(&self) -> bool {
        self.kind() == Some(Kind::Null)
    }

    /// The string that it is, if it is one.
    pub(crate) fn string(&self) -> Result<Option<Cow<'a, str>>, JsonError> {
        match self.kind() {
            Some(Kind::String) => string(self.text, self.span).map(Some),
            _ => Ok(None),
        }
    }

    /// The elements of the array that it is, if it is one.
    pub(crate) fn array(&self) -> Result<Option<Vec<Node<'a>>>, JsonError> {
        if self.kind() != Some(Kind::Array) {
            return Ok(None);
        }
        let text = self.text;
        elements(text, self.span)
            .map(|span| Ok(Node { text, span: span? }))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// The object that it is, if it is one.
    pub(crate) fn object(&self) -> Result<Option<Object<'a>>, JsonError> {
        if self.kind() != Some(Kind::Object) {
            return Ok(None);
        }
        let text = self.text;
        let fields = members(text, self.span)
            .map(|member| member.map(|(key, span)| Field { key, node: Node { text, span }, taken: false }))
            .collect::<Result<_, _>>()?;
        Ok(Some(Object { fields }))
    }

    /// The value kept whole, under the name of its `type`.
    pub(crate) fn opaque(&self) -> Result<Opaque, JsonError> {
        let kind = match self.object()? {
            Some(mut object) => object.string("type")?.unwrap_or_default().into_owned(),
            None => String::new(),
        };
        Ok(Opaque { kind, raw: self.raw_json() })
    }
}

/// The fields of a JSON object, to be taken one by one.
pub(crate) struct Object<'a> {
    fields: Vec<Field<'a>>,
}

struct Field<'a> {
    key: Cow<'a, str>,
    node: Node<'a>,
    taken: bool,
}

impl<'a> Object<'a> {
    /// The value of `key`, left in place. Of duplicate keys the last counts, as in every provider's parser.
    pub(crate) fn get(&self, key: &str) -> Option<Node<'a>> {
        self.fields.iter().rev().find(|field| field.key == key).map(|field| field.node)
    }

    /// The value of `key`, which then counts as understood.
    pub(crate) fn take(&mut self, key: &str) -> Option<Node<'a>> {
        let value = self.get(key);
        for field in self.fields.iter_mut().filter(|field| field.key == key) {
            field.taken = true;
        }
        value
    }

    /// Takes `key` if its value is a string.
    pub(crate) fn string(&mut self, key: &str) -> Result<Option<Cow<'a, str>>, JsonError> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let found = node.string()?;
        if found.is_some() {
            self.take(key);
        }
        Ok(found)
    }

    /// Who speaks, of those that are known; anybody else speaks for the user, and is left among the unknown fields.
    pub(crate) fn role(&mut self, known: &[(&str, Role)]) -> Result<Option<Role>, JsonError> {
        let Some(name) = self.get("role").map(|role| role.string()).transpose()?.flatten() else {
            return Ok(None);
        };
        let role = known.iter().find(|(known, _)| *known == name).map(|(_, role)| *role);
        if role.is_some() {
            self.take("role");
        }
        Ok(Some(role.unwrap_or(Role::User)))
    }

    /// Takes `key` if its value is `true` or `false`.
    pub(crate) fn boolean(&mut self, key: &str) -> Option<bool> {
        let found = match self.get(key)?.raw() {
            "true" => true,
            "false" => false,
            _ => return None,
        };
        self.take(key);
        Some(found)
    }

    /// Takes `key` if its value is `null`.
    pub(crate) fn null(&mut self, key: &str) {
        if self.get(key).is_some_and(|node| node.is_null()) {
            self.take(key);
        }
    }

    /// Keys and values, in their order, duplicates included.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, Node<'a>)> {
        self.fields.iter().map(|field| (&*field.key, field.node))
    }

    /// What nobody took, as written.
    pub(crate) fn rest(&self) -> Fields {
        let left = self.fields.iter().filter(|field| !field.taken);
        left.map(|field| (field.key.clone().into_owned(), field.node.raw_json())).collect()
    }

    /// What nobody took, with `kind` as its `type` unless that is the `usual` one.
    ///
    /// Several wire types can decode to one kind of block. The less usual ones ride along among the
    /// unknown fields, so that the encoder can tell them apart.
    pub(crate) fn rest_typed(&self, kind: &str, usual: &str) -> Fields {
        let mut rest = self.rest();
        if kind != usual {
            rest.insert(0, ("type".to_owned(), RawJson::new(crate::json::quote(kind))));
        }
        rest
    }

    /// Whether nothing is left to take.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.fields.iter().all(|field| field.taken)
    }
}

/// The string that stands under `key` among unknown fields.
pub(crate) fn field_string(fields: &Fields, key: &str) -> Option<String> {
    let (_, raw) = fields.iter().find(|(name, _)| name == key)?;
    let raw = raw.as_str();
    string(raw, Span { start: 0, end: raw.len() }).ok().map(Cow::into_owned)
}
