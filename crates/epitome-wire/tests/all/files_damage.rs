//! Damaged files: what is wrong and where, what can still be read, and never a panic.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use epitome_wire::Edit;
use epitome_wire::files::{Damage, FileError, Format, ReadOptions, Reader, read_all};

use crate::files::{FIXTURES, drawn, fixture};

const USER: &str = r#"{"role":"user","content":"ask"}"#;
const REPLY: &str = r#"{"role":"assistant","content":"answer"}"#;

fn lenient() -> ReadOptions {
    ReadOptions { damage: Damage::KeepGoing, ..ReadOptions::default() }
}

#[track_caller]
fn damaged(bytes: &[u8], kept: usize, expected: &str) {
    let read = read_all(bytes, lenient()).unwrap_or_else(|error| panic!("{error}"));
    let damage: Vec<String> =
        read.iter().flat_map(|transcript| &transcript.damage).map(ToString::to_string).collect();
    assert_eq!(damage.first().map(String::as_str), Some(expected), "{damage:?}");
    assert_eq!(read.iter().map(|transcript| transcript.messages.len()).sum::<usize>(), kept);
    let error = read_all(bytes, ReadOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert!(error.hint().is_some_and(|hint| hint.contains("--lenient")));
    if let Ok(text) = std::str::from_utf8(bytes) {
        let nothing = |transcript: &epitome_wire::files::Transcript| {
            transcript.rewrite(&BTreeMap::new(), &BTreeSet::new()).unwrap()
        };
        assert_eq!(read.iter().map(nothing).collect::<String>(), text, "damage stays where it was");
    }
}

#[test]
fn damaged_lines_are_named() {
    let cases = [
        (format!("// note\n{USER}\n{REPLY}\n"), 2, "line 1, column 1: expected a JSON value"),
        (format!("{USER}{REPLY}\n{USER}\n"), 3, "line 1, column 32: a second object on the same line"),
        (format!("{USER}\n{REPLY} trailing\n"), 2, "line 2, column 41: expected an object"),
        (
            format!("{USER}\n\n{{\"role\":\"assistant\",\"content\":\"ans"),
            1,
            "line 3, column 31: string is never closed",
        ),
        (
            format!("{USER}\n{{\"role\":\"assistant\"\n{REPLY}\n"),
            2,
            "line 2, column 20: unexpected end of JSON",
        ),
        (format!("{USER}\n[1,2]\n{REPLY}\n"), 2, "line 2, column 1: expected an object"),
        (format!("{USER}\nnull\n{REPLY}\n"), 2, "line 2, column 1: expected an object"),
        (
            format!("{USER}\n{{\"role\":\"assistant\",\"content\":]}}\n{REPLY}\n"),
            2,
            "line 2, column 31: expected a JSON value",
        ),
    ];
    for (text, kept, expected) in cases {
        damaged(text.as_bytes(), kept, expected);
        damaged(text.replace('\n', "\r\n").as_bytes(), kept, expected);
    }
}

const CLAUDE_CODE: &str =
    r#"{"type":"user","uuid":"u","parentUuid":null,"message":{"role":"user","content":"claude"}}"#;
const CODEX: &str = r#"{"timestamp":"2025-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"codex"}]}}"#;
const PI: &str = r#"{"type":"message","id":"p","parentId":null,"message":{"role":"user","content":[{"type":"text","text":"pi"}]}}"#;

#[test]
fn lines_of_another_tool_are_named() {
    let kinds = [
        (USER, Format::MessagesJsonl),
        (CLAUDE_CODE, Format::ClaudeCode),
        (CODEX, Format::Codex),
        (PI, Format::Pi),
    ];
    for (own, format) in kinds {
        for (foreign, other) in kinds.iter().filter(|(_, other)| *other != format) {
            let expected = format!("line 2, column 1: a line of a {other} file in a {format} file");
            damaged(format!("{own}\n{foreign}\n").as_bytes(), 1, &expected);
        }
    }
    let mixed = format!("{USER}\n{REPLY}\n{CLAUDE_CODE}\n{CODEX}\n");
    damaged(mixed.as_bytes(), 2, "line 3, column 1: a line of a claude-code file in a messages-jsonl file");
}

#[test]
fn invalid_utf8_is_named() {
    let mut bytes = format!("{USER}\n").into_bytes();
    bytes.extend(b"{\"role\":\"user\",\"content\":\"\xC3\x28\"}\n");
    damaged(&bytes, 2, "line 2, column 27: invalid UTF-8");
}

#[test]
fn values_that_cannot_be_read_are_named() {
    let lone = format!("{USER}\n{{\"role\":\"user\",\"content\":\"\\ud800\"}}\n");
    let error = read_all(lone.as_bytes(), ReadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("line 2, column 1: ") && error.contains("lone surrogate"), "{error}");
    let read = read_all(lone.as_bytes(), lenient()).unwrap();
    assert_eq!((read[0].messages.len(), read[0].damage.len()), (1, 1));

    let deep =
        format!("{USER}\n{{\"role\":\"user\",\"content\":{}{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
    let error = read_all(deep.as_bytes(), ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "line 2, column 537: nested deeper than 512 levels");
    let role = format!("{USER}\n{{\"role\":\"pirate\",\"content\":\"arr\"}}\n");
    let error = read_all(role.as_bytes(), ReadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("line 2, column 1: ") && error.contains("pirate"), "{error}");
}

#[test]
fn files_that_are_no_transcripts_say_so() {
    let cases: [(&[u8], &str); 8] = [
        (b"", "the file is empty"),
        (b" \n\r\n\t", "the file is empty"),
        (b"hello there\n", "not JSON: line 1, column 1: expected a JSON value"),
        (b"\"just a string\"", "not JSON: line 1, column 1: expected an object or an array, not a string"),
        (b"{\"messages\": [", "not JSON: line 1, column 15: unexpected end of JSON"),
        (b"{\"a\":1,\"b\":2}", "no known transcript format (the first value is an object with a, b)"),
        (b"[]", "no known transcript format (the first value is an empty array)"),
        (b"{\"messages\":[1]}", "line 1, column 14: not chat: message is not an object at byte 0"),
    ];
    for (bytes, expected) in cases {
        let error = read_all(bytes, ReadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(error.hint().is_some() || matches!(error, FileError::Empty), "{error} has a hint");
    }
    let long = "a".repeat(8 << 20);
    let error = read_all(long.as_bytes(), ReadOptions::default()).unwrap_err().to_string();
    assert!(error.len() < 100, "one clear sentence: {error}");
    let many = format!("{{\"{long}\":1}}");
    let error = read_all(many.as_bytes(), ReadOptions::default()).unwrap_err().to_string();
    assert!(error.len() < 200, "one clear sentence: {}", error.len());
}

#[test]
fn sizes_are_bounded() {
    let options = ReadOptions { max_bytes: 100, ..ReadOptions::default() };
    let session = fixture("messages.jsonl");
    assert!(matches!(read_all(session.as_bytes(), options), Err(FileError::TooLarge(100))));
    // Conversations are bounded one by one, however long the file.
    let lines = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n".repeat(50);
    assert_eq!(read_all(lines.as_bytes(), options).unwrap().len(), 50);
}

#[test]
fn conversations_survive_damage_between_them() {
    let one = r#"{"id":"a","messages":[{"role":"user","content":"x"}]}"#;
    let other = one.replace("\"a\"", "\"b\"");
    let text = format!("# log\n{one}\ngarbage\n\n{other}{one}\n{{\"id\":3}}\n{{\"messages\":[");
    let read = read_all(text.as_bytes(), lenient()).unwrap();
    let ids: Vec<_> = read.iter().filter_map(|transcript| transcript.id.as_deref()).collect();
    assert_eq!(ids, ["a", "b", "a"]);
    assert_eq!(read.iter().map(|transcript| transcript.text.as_str()).collect::<String>(), text);
    let damage: Vec<String> =
        read.iter().flat_map(|transcript| &transcript.damage).map(ToString::to_string).collect();
    assert_eq!(
        damage,
        [
            "line 1, column 1: expected a JSON value",
            "line 3, column 1: expected a JSON value",
            "line 5, column 54: a second object on the same line",
            "line 6, column 1: no conversation: it has no messages",
            "line 7, column 14: unexpected end of JSON",
        ]
    );
    let mut reader = Reader::new(text.trim_start_matches("# log\n").as_bytes(), ReadOptions::default());
    assert_eq!(reader.next().and_then(Result::ok).and_then(|first| first.id).as_deref(), Some("a"));
    assert!(matches!(reader.next(), Some(Err(FileError::Damaged(damaged))) if damaged.line == 2));
    assert!(reader.next().is_none());
}

#[test]
fn nothing_between_conversations_is_lost() {
    let one = r#"{"messages":[{"role":"user","content":"x"}]}"#;
    let text = format!("{one}{{\"id\":3}}{one} rest\n{{\"messages\":3}}\n");
    let read =
        read_all(text.as_bytes(), ReadOptions { format: Some(Format::Conversations), ..lenient() }).unwrap();
    assert_eq!(read.len(), 2);
    assert_eq!(read.iter().map(|transcript| transcript.text.as_str()).collect::<String>(), text);
}

struct Counted<'a> {
    bytes: &'a [u8],
    taken: &'a std::cell::Cell<usize>,
}

impl std::io::Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(self.bytes.len()).min(64);
        let (now, later) = self.bytes.split_at(length);
        buffer[..length].copy_from_slice(now);
        self.bytes = later;
        self.taken.set(self.taken.get() + length);
        Ok(length)
    }
}

#[test]
fn conversations_are_read_no_further_than_needed() {
    let line = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n";
    let text = line.repeat(1000);
    let taken = std::cell::Cell::new(0);
    let input = std::io::BufReader::with_capacity(64, Counted { bytes: text.as_bytes(), taken: &taken });
    for (place, read) in Reader::new(input, ReadOptions::default()).enumerate() {
        assert_eq!(read.unwrap().text, line);
        assert!(taken.get() <= (place + 3) * line.len() + 64, "two lines ahead at most");
    }
    assert_eq!(taken.get(), text.len());
}

#[test]
fn a_missing_line_does_not_break_the_thread() {
    for (name, lost) in [("claude-code.jsonl", "\"uuid\":\"a-5\""), ("pi-tree.jsonl", "\"id\":\"00000009\"")]
    {
        let text: String = fixture(name)
            .split_inclusive('\n')
            .map(|line| if line.contains(lost) { "{\"cut\n" } else { line })
            .collect();
        let read = read_all(text.as_bytes(), lenient()).unwrap();
        let whole = read_all(fixture(name).as_bytes(), lenient()).unwrap();
        let first =
            |transcript: &epitome_wire::files::Transcript| drawn(&transcript.messages[transcript.main()[0]]);
        assert_eq!(first(&read[0]), first(&whole[0]), "{name}: the main thread still starts at the start");
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_may_come_in_members_and_may_be_cut_off() {
    let (head, tail) = fixture("messages.jsonl").split_at(100);
    let members = [gzip(head.as_bytes()), gzip(tail.as_bytes())].concat();
    assert_eq!(read_all(&members, ReadOptions::default()).unwrap()[0].messages.len(), 4);

    let text = fixture("claude-code.jsonl");
    let whole = gzip(text.as_bytes());
    let cut = &whole[..whole.len() * 2 / 3];
    let error = read_all(cut, ReadOptions::default()).unwrap_err();
    assert!(matches!(error, FileError::Gzip(_)) && error.hint().is_some(), "{error}");
    let read = read_all(cut, lenient()).unwrap();
    assert!(!read[0].messages.is_empty() && text.starts_with(&read[0].text));
    assert!(
        read[0].damage.iter().any(|damaged| damaged.reason.starts_with("damaged gzip data")),
        "{:?}",
        read[0].damage
    );
}

#[test]
fn no_mutation_panics() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below.max(1) as u64).unwrap()
    };
    let (mut read_at_all, mut tried) = (0, 0);
    for (_, text) in FIXTURES {
        for _ in 0..60 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                match random(5) {
                    0 => bytes.truncate(at),
                    1 => bytes[at] = b"{}[]\",:\\\n\0\xff0n"[random(13)],
                    2 => drop(bytes.drain(at..(at + random(40)).min(bytes.len()))),
                    3 => {
                        let from = random(bytes.len());
                        let piece = bytes[from..(from + random(60)).min(bytes.len())].to_vec();
                        bytes.splice(at..at, piece);
                    }
                    _ => bytes[at] = bytes[at].wrapping_add(1),
                }
                if bytes.is_empty() {
                    break;
                }
            }
            tried += 1;
            let _ = read_all(&bytes, ReadOptions::default());
            for transcript in read_all(&bytes, lenient()).unwrap_or_default() {
                read_at_all += 1;
                exercise(&transcript);
            }
        }
    }
    assert!(read_at_all > tried / 2, "most mutants can be read: {read_at_all} of {tried}");
}

fn exercise(transcript: &epitome_wire::files::Transcript) {
    let same = transcript.rewrite(&BTreeMap::new(), &BTreeSet::new()).unwrap();
    assert_eq!(same, transcript.text);
    for thread in &transcript.threads {
        assert!(transcript.context(thread).len() <= transcript.messages.len());
    }
    for message in 0..transcript.messages.len() {
        let _ = transcript.rewrite(&BTreeMap::new(), &BTreeSet::from([message]));
        for block in 0..transcript.messages[message].blocks.len() {
            for edit in [Edit::Text("x".into()), Edit::Remove] {
                let _ =
                    transcript.rewrite(&BTreeMap::from([(message, vec![(block, edit)])]), &BTreeSet::new());
            }
        }
    }
}
