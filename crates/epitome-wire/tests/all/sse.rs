//! Events are the same however the bytes of a stream are cut, and however its lines end.

use epitome_wire::sse::{Event, Events};
use proptest::prelude::*;

fn read(pieces: &[&[u8]]) -> Vec<(String, String)> {
    let mut events = Events::default();
    let mut found: Vec<Event> = pieces.iter().flat_map(|piece| events.push(piece)).collect();
    found.extend(events.end());
    found.into_iter().map(|event| (event.name, event.data)).collect()
}

#[test]
fn fields_comments_and_line_ends_are_understood() {
    let expected = [("one", "1\n2"), ("", " x:y"), ("", "")].map(|(name, data)| (name.into(), data.into()));
    for end in ["\n", "\r\n", "\r"] {
        let lines = [
            "\u{feff}event: one",
            "data: 1",
            "data:2",
            "",
            ": comment",
            "event: no data",
            "",
            "id: 7",
            "retry: 10",
            "data:  x:y",
            "",
            "data",
            "",
            "",
        ];
        let stream = lines.join(end);
        assert_eq!(read(&[stream.as_bytes()]), expected, "{end:?}");
    }
}

#[test]
fn what_is_left_at_the_end_is_given() {
    assert_eq!(read(&[b"data: [DONE]"]), [(String::new(), "[DONE]".to_owned())]);
    assert_eq!(read(&[b"data: a\n"]), [(String::new(), "a".to_owned())]);
    assert_eq!(read(&[b"event: a\n"]), []);
}

#[test]
fn what_is_held_is_known() {
    let mut events = Events::default();
    events.push(b"data: 12345\ndata: 678");
    assert_eq!(events.held(), 5 + 9);
    events.push(b"\n\n");
    assert_eq!(events.held(), 0);
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_events(
        stream in "(event|data|id|:| |\r\n|\n|\r|é|x|\u{feff}){0,60}",
        cuts in prop::collection::vec(0usize..200, 0..8),
    ) {
        let bytes = stream.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(read(&pieces), read(&[bytes]));
    }

    #[test]
    fn no_bytes_upset_it(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read(&[&bytes]);
    }
}
