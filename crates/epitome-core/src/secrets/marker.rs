//! The marker that stands in a secret's place: how it is written, and where one stands already.

use std::ops::Range;

use super::Kind;
use super::anchors::{Anchors, prepared};
use super::forms::{DISCORD, FORMS, SENTRY, TELEGRAM, WEBHOOK};

const OPENING: &str = "[secret: ";
static OPENINGS: Anchors = Anchors::new(|| prepared([OPENING]));

/// The longest label, so that a bracket far away is not looked for.
const LONGEST_LABEL: usize = 32;

/// Writes the marker of a secret.
pub(super) fn write(kind: Kind, text: &mut String) {
    text.push_str(OPENING);
    text.push_str(kind.label());
    text.push(']');
}

/// How long that is.
pub(super) fn length(kind: Kind) -> usize {
    OPENING.len() + kind.label().len() + 1
}

/// Where markers stand in a text, in order.
pub(super) struct Markers(Vec<Range<usize>>);

impl Markers {
    pub(super) fn of(text: &str) -> Self {
        let openings = OPENINGS.places(text.as_bytes());
        Self(openings.filter_map(|place| marker_at(text.as_bytes(), place.start)).collect())
    }

    /// Whether a marker lies in `span`, or part of one.
    pub(super) fn touch(&self, span: Range<usize>) -> bool {
        let after = self.0.partition_point(|marker| marker.end <= span.start);
        self.0.get(after).is_some_and(|marker| marker.start < span.end)
    }
}

fn marker_at(text: &[u8], start: usize) -> Option<Range<usize>> {
    let label = text.get(start + OPENING.len()..)?;
    let length = label.iter().take(LONGEST_LABEL + 1).position(|byte| *byte == b']')?;
    is_label(label.get(..length)?).then_some(start..start + OPENING.len() + length + 1)
}

fn is_label(label: &[u8]) -> bool {
    let own =
        [Kind::JsonWebToken, Kind::PrivateKey, Kind::Authorization, Kind::Cookie, Kind::Password, Kind::Key];
    let issued = FORMS.iter().map(|form| form.label).chain([DISCORD, SENTRY, TELEGRAM, WEBHOOK]);
    own.map(Kind::label).into_iter().chain(issued).any(|known| known.as_bytes() == label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_is_short_enough_to_be_found_again() {
        for form in FORMS {
            let mut text = "before ".to_owned();
            write(Kind::Issued(form.label), &mut text);
            assert_eq!(Markers::of(&text).0.first(), Some(&(7..text.len())), "{}", form.label);
        }
    }
}
