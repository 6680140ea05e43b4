//! Segments and the views they make: shapes as data.

use epitome_core::compact::{
    Compaction, LeadingSentences, Level, Piece, Placement, Plan, Planned, Segment, Summarizer, SummaryError,
    SummaryRequest, SummaryTask, SystemPlace, TilingError, Wording, check_tiling, view,
};
use epitome_core::prune::{Mark, Marked, Rule};
use epitome_core::{Block, Chars, Message, Role, Tokens};

use crate::notation::talk;
use crate::support::{assistant, counter, path, user};

fn wording() -> Wording {
    Wording { summary: "<{summary}>".to_owned(), acknowledgement: "ok".to_owned() }
}

// "v2 s2 o1 v1": so many messages verbatim, summarised, omitted.
fn compaction(notation: &str, placement: Placement) -> Compaction {
    let mut start = 0;
    let segments = notation.split_whitespace().map(|word| {
        let (kind, length) = word.split_at(1);
        let range = start..start + length.parse::<usize>().expect("a length");
        start = range.end;
        match kind {
            "v" => Segment::Verbatim { range },
            "s" => Segment::Summary { text: format!("{range:?}"), range, level: Level::Rolling },
            "o" => Segment::Omitted { range, note: String::new() },
            other => panic!("no segment {other}"),
        }
    });
    Compaction { segments: segments.collect(), placement, wording: wording() }
}

// Messages of the path by number, others by role and text.
fn seen(line: &str, compaction: &Compaction, place: SystemPlace) -> String {
    let messages = talk(line);
    let shown = view(compaction, &path(&messages), &messages, place);
    let text = |message: &Message| match message.blocks.last() {
        Some(Block::Text(text)) => text.text.replace("[Earlier messages omitted]", "[…]"),
        other => format!("{other:?}"),
    };
    let all = shown.messages(&messages);
    let pieces = shown.pieces.iter().zip(&all).map(|(piece, message)| match piece {
        Piece::Keep(at) => at.to_string(),
        Piece::Edit(at, _) => format!("{at}:{}", text(message).replace("\n\n", "+")),
        Piece::New(message) => format!("{}:{}", &message.role.to_string()[..1], text(message)),
    });
    let system = shown.system.map(|text| format!("[{text}]"));
    system.into_iter().chain(pieces).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_summary_stands_in_a_pair() {
    let cases = [
        ("u a u a", "s2 v2", "u:<0..2> a:ok 2 3"),
        ("s u a u a", "v1 s2 v2", "0 u:<1..3> a:ok 3 4"),
        ("u a+1 t-1 a+2 t-2", "s3 v2", "u:<0..3> 3 4"),
        ("u a u a", "s4", "u:<0..4>"),
        ("u a u a u", "s4", "u:<0..4> a:ok 4"),
        ("u a u a u", "s3", "u:<0..3> 3 4"),
        ("u a u a u a", "s1 s1 s2 v2", "u:<0..1\n\n1..2\n\n2..4> a:ok 4 5"),
        ("u a u a u a", "s2 o1 s1 v2", "u:<0..2\n\n3..4> a:ok 4 5"),
        ("u a u a u a u", "s2 v1 s3 v1", "u:<0..2> a:ok 2 a:[…] u:<3..6> a:ok 6"),
        ("u a u a u a u", "s1 v1 s4 v1", "u:<0..1> 1 u:<2..6> a:ok 6"),
    ];
    for (line, segments, expected) in cases {
        let compaction = compaction(segments, Placement::Pair);
        assert_eq!(seen(line, &compaction, SystemPlace::Outside), expected, "{line} as {segments}");
    }
}

#[test]
fn a_summary_joins_the_first_user_message() {
    let cases = [
        ("u a u a", "v1 s1 v2", "0:word+<1..2> a:ok 2 3"),
        ("u a u a", "v1 s2 v1", "0:word+<1..3> 3"),
        ("s u a u a", "v2 s1 v2", "0 1:word+<2..3> a:ok 3 4"),
        ("u a u a", "s2 v2", "u:<0..2> a:ok 2 3"),
        ("u# a u a", "v1 s1 v2", "0 a:[…] u:<1..2> a:ok 2 3"),
        ("u a u a u a u", "v1 s1 v2 s2 v1", "0:word+<1..2>+<4..6> a:ok 2 3 6"),
        ("u-9 a u a u a u", "v1 s1 v5", "0 a:[…] u:<1..2> a:ok 2 3 4 5 6"),
    ];
    for (line, segments, expected) in cases {
        let compaction = compaction(segments, Placement::FirstUser);
        assert_eq!(seen(line, &compaction, SystemPlace::Outside), expected, "{line} as {segments}");
    }
}

#[test]
fn a_summary_stands_among_the_instructions() {
    let developer = SystemPlace::Message(Role::Developer);
    let cases = [
        ("s u a u a", "v1 s2 v2", SystemPlace::Outside, "[<1..3>] 0 3 4"),
        ("s u a u a", "v1 s2 v2", developer, "0 d:<1..3> 3 4"),
        ("u a u a", "s2 v2", developer, "d:<0..2> 2 3"),
        ("u a u a", "s1 v3", developer, "d:<0..1> u:[…] 1 2 3"),
        ("u a u a u a", "s1 v1 s2 v2", SystemPlace::Outside, "[<0..1\n\n2..4>] u:[…] 1 4 5"),
    ];
    for (line, segments, place, expected) in cases {
        let compaction = compaction(segments, Placement::System);
        assert_eq!(seen(line, &compaction, place), expected, "{line} as {segments}");
    }
}

#[test]
fn what_is_omitted_leaves_a_word_only_where_roles_need_one() {
    let cases = [
        ("u a u a", "o2 v2", "2 3"),
        ("u a u a", "o1 v3", "u:[…] 1 2 3"),
        ("u a u a u", "v1 o3 v1", "0 a:[…] 4"),
        ("u a u a u", "v2 o1 v2", "0 1 u:[…] 3 4"),
        ("u a u a u", "v2 o2 v1", "0 1 4"),
        ("u u a a u", "v5", "0 1 2 3 4"),
        ("a u a", "v3", "0 1 2"),
        ("a u a u a", "o2 v3", "u:[…] 2 3 4"),
        ("u s u a", "v4", "0 1 2 3"),
    ];
    for (line, segments, expected) in cases {
        let compaction = compaction(segments, Placement::Pair);
        assert_eq!(seen(line, &compaction, SystemPlace::Outside), expected, "{line} as {segments}");
    }
}

#[test]
fn thinking_that_would_be_older_than_hidden_thinking_goes() {
    let shown = |line: &str, segments: &str| {
        let messages = talk(line);
        let compaction = compaction(segments, Placement::Pair);
        let view = view(&compaction, &path(&messages), &messages, SystemPlace::Outside);
        let thinks =
            |message: &Message| message.blocks.iter().any(|block| matches!(block, Block::Thinking(_)));
        view.messages(&messages)
            .iter()
            .map(|message| if thinks(message) { '~' } else { '.' })
            .collect::<String>()
    };
    assert_eq!(shown("u a~*1 u a~*1 u a~*1 u", "s2 v5"), "...~.~.", "the newest stay");
    assert_eq!(shown("u a~*1 u a~*1 u a~*1 u", "v2 s2 v3"), ".......", "or none");
    assert_eq!(shown("u a~*1 u a u a~*1 u", "v2 s2 v3"), ".~...~.", "nothing of it was hidden");
    assert_eq!(
        shown("u a~ u a~*1 u a~*1 u", "v2 s2 v3"),
        ".......",
        "a reply of nothing but thinking is replaced"
    );
    assert_eq!(shown("u a~*1 u a~*1 u a~*1 u a~*1", "v2 s2 v1"), "........", "also in what came later");
}

#[test]
fn everything_verbatim_is_the_path() {
    for line in ["", "u", "a", "s u a~ u a+1 t-1", "u u a a s u#", "u-3 a+4"] {
        let messages = talk(line);
        let compaction = Compaction::verbatim(messages.len());
        assert_eq!(check_tiling(&compaction.segments, messages.len()), Ok(()));
        let view = view(&compaction, &path(&messages), &messages, SystemPlace::Outside);
        assert_eq!(view.messages(&messages), messages);
        assert_eq!(view.pieces, (0..messages.len()).map(Piece::Keep).collect::<Vec<_>>());
        assert_eq!(view.system, None);
    }
}

#[test]
fn segments_tile_the_path_or_say_where_they_do_not() {
    let verbatim = |range| Segment::Verbatim { range };
    let error =
        |segment, start, end, expected, path| Err(TilingError { segment, start, end, expected, path });
    let cases = [
        (vec![verbatim(0..2), verbatim(2..5)], 5, Ok(())),
        (vec![], 0, Ok(())),
        (vec![verbatim(0..2), verbatim(3..5)], 5, error(1, 3, 5, 2, 5)),
        (vec![verbatim(0..3), verbatim(2..5)], 5, error(1, 2, 5, 3, 5)),
        (vec![verbatim(1..5)], 5, error(0, 1, 5, 0, 5)),
        (vec![verbatim(0..2), verbatim(2..2), verbatim(2..5)], 5, error(1, 2, 2, 2, 5)),
        (vec![verbatim(0..4)], 5, error(1, 4, 4, 5, 5)),
        (vec![verbatim(0..6)], 5, error(0, 0, 6, 0, 5)),
        (vec![], 1, error(0, 0, 0, 1, 1)),
    ];
    for (segments, path, expected) in cases {
        assert_eq!(check_tiling(&segments, path), expected, "{segments:?}");
    }
}

#[test]
fn a_part_is_expanded_with_what_it_cannot_be_told_apart_from() {
    let show = |segments: &[Segment]| {
        let word = |segment: &Segment| {
            let kind = match segment {
                Segment::Verbatim { .. } => "v",
                Segment::Pruned { .. } => "p",
                Segment::Summary { .. } => "s",
                Segment::Omitted { .. } => "o",
            };
            format!("{kind}{}", segment.range().len())
        };
        segments.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    let cases = [
        ("s4 v2", 1..2, "v6"),
        ("s2 s2 v2", 0..1, "v2 s2 v2"),
        ("o2 s2 s2 v2", 3..4, "o2 v2 s2 v2"),
        ("o2 s2 v2", 1..2, "v2 s2 v2"),
        ("o2 s2 v2", 1..3, "v6"),
        ("s4 v2", 4..6, "s4 v2"),
        ("s4 v2", 2..2, "s4 v2"),
        ("s4 v2", 0..99, "v6"),
    ];
    for (segments, range, expected) in cases {
        let expanded = compaction(segments, Placement::Pair).expanded(range.clone());
        assert_eq!(show(&expanded.segments), expected, "{segments} at {range:?}");
    }
    let mark = |message| Marked {
        message,
        block: 0,
        mark: Mark::Clear { tail: Chars(0) },
        rule: Rule::HardClear,
        speaker: "bash".to_owned(),
    };
    let marks = vec![mark(1), mark(3), mark(5)];
    let pruned =
        Compaction { segments: vec![Segment::Pruned { range: 0..6, marks }], ..Compaction::verbatim(0) };
    assert_eq!(show(&pruned.expanded(2..4).segments), "p2 v2 p2", "of what is pruned only the part");
    assert_eq!(show(&pruned.expanded(1..6).segments), "v6");
    let inner: Vec<usize> = pruned
        .expanded(0..3)
        .segments
        .iter()
        .flat_map(|segment| match segment {
            Segment::Pruned { marks, .. } => marks.iter().map(|marked| marked.message).collect(),
            _ => vec![],
        })
        .collect();
    assert_eq!(inner, [3, 5]);
}

#[test]
fn a_summary_takes_over_what_was_summarised_at_its_start() {
    let previous = compaction("v1 s2 o1 s2 v2", Placement::Pair);
    let over = |range| {
        let task = SummaryTask::over(range, Level::Rolling, Some(&previous), Tokens(100));
        (task.previous.join(" "), task.fresh)
    };
    assert_eq!(over(1..8), ("1..3 4..6".to_owned(), 6..8), "all of it");
    assert_eq!(over(1..6), ("1..3 4..6".to_owned(), 6..6), "nothing is new");
    assert_eq!(over(1..5), ("1..3".to_owned(), 4..5), "half a summary is read again from what it stands for");
    assert_eq!(over(0..8), (String::new(), 0..8), "what was shown comes first");
    assert_eq!(over(2..8), (String::new(), 2..8));
    assert_eq!(over(3..8), ("4..6".to_owned(), 6..8));
    let task = SummaryTask::over(1..8, Level::Rolling, None, Tokens(100));
    assert_eq!((task.previous, task.fresh), (vec![], 1..8));
}

struct Fixed(Result<String, SummaryError>);

impl Summarizer for Fixed {
    fn summarize(&mut self, _: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        self.0.clone()
    }
}

fn written(said: Result<&str, &str>, max_tokens: u64, max_chars: Option<usize>) -> String {
    let messages = talk("u a u a");
    let mut task = SummaryTask::over(0..4, Level::Rolling, None, Tokens(max_tokens));
    task.max_chars = max_chars.map(Chars);
    let plan = Plan {
        parts: vec![Planned::Summary(task)],
        placement: Placement::Pair,
        wording: Wording::default(),
        favours: epitome_core::compact::Favours::Recent,
    };
    let said = said.map(str::to_owned).map_err(|error| SummaryError(error.to_owned()));
    let compaction = plan.run(&messages, &mut Fixed(said), &|text| counter().text(text));
    match &compaction.segments[..] {
        [Segment::Summary { text, .. }] => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_summary_keeps_to_its_caps_and_a_failed_one_leaves_an_annotation() {
    assert_eq!(written(Ok("short"), 100, None), "short");
    assert_eq!(written(Ok("one two three four five six"), 4, None), "one two three four");
    assert_eq!(written(Ok("first line\nsecond line\nthird"), 100, Some(24)), "first line\nsecond line");
    assert_eq!(written(Ok("ééééé"), 100, Some(3)), "ééé");
    let annotation = "Context contained 4 messages. Summary unavailable.";
    assert_eq!(written(Err("down"), 100, None), annotation);
    assert_eq!(written(Ok(" \n"), 100, None), annotation);
}

#[test]
fn leading_sentences_leave_room_for_what_is_new() {
    let summarize = |messages: &[Message], previous: &[String], max_tokens: u64| {
        let request = SummaryRequest {
            level: Level::Rolling,
            range: 0..messages.len(),
            messages,
            first: 0,
            previous,
            marks: &[],
            max_tokens: Tokens(max_tokens),
            max_chars: None,
            instructions: None,
        };
        LeadingSentences.summarize(&request).expect("it cannot fail")
    };
    let messages = [user("Fix the bug. It is urgent."), assistant("Done.\nMore follows.")];
    assert_eq!(summarize(&messages, &[], 100), "- User: Fix the bug.\n- Assistant: Done.");
    assert_eq!(
        summarize(&messages, &["Earlier.".to_owned()], 100),
        "Earlier.\n- User: Fix the bug.\n- Assistant: Done."
    );
    let long: String = (0..40).map(|line| format!("line {line}\n")).collect();
    let merged = summarize(&messages, std::slice::from_ref(&long), 40);
    assert!(merged.starts_with("line 0\nline 3"), "the first line and the last ones: {merged}");
    assert!(merged.contains("line 39\n- User: Fix the bug."), "{merged}");
    let alone = summarize(&[], &[long], 40);
    assert!(alone.len() > merged.len() - 40 && alone.ends_with("line 39"), "{alone}");
}

#[test]
fn a_system_summary_of_everything_is_still_a_message() {
    let messages = [user("ask")];
    let shown = view(&compaction("s1", Placement::System), &path(&messages), &messages, SystemPlace::Outside);
    assert_eq!(shown.system, None);
    assert!(matches!(&shown.pieces[..], [Piece::New(message)] if message.role == Role::User));
}
