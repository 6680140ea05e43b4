//! Generated paths, plans, pins and summarisers for property tests of compaction.
//!
//! Beside what [`crate::conversations`] has: messages, arguments and pictures of any size, a provider's compaction items,
//! instructions in mid-conversation, calls that still wait, and plans that no sane strategy would make.

use epitome_core::compact::{
    Compaction, Favours, Level, Placement, Plan, Planned, Segment, Summarizer, SummaryError, SummaryRequest,
    SummaryTask, Wording,
};
use epitome_core::{Block, Fields, Message, Role, Tokens, ToolUse};
use proptest::bool;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::conversations::conversation;
use crate::notation::talk;
use crate::support::*;

/// A conversation with everything in it that is hard to fit.
pub(crate) fn path_of_messages() -> impl Strategy<Value = Vec<Message>> {
    let spice = (any::<prop::sample::Index>(), oddity());
    (conversation(), vec(spice, 0..4), bool::weighted(0.2)).prop_map(|(mut messages, spices, waits)| {
        for (number, (index, oddity)) in spices.into_iter().enumerate() {
            let at = if messages.is_empty() { 0 } else { index.index(messages.len()) };
            // Oddities stand where a person or the model could speak, not between a call and its result.
            let free = |at: &usize| messages.get(*at).is_none_or(|message| message.role == Role::Assistant);
            let at = (at..=messages.len()).find(free).unwrap_or(messages.len());
            let at = at.max(usize::from(messages.first().is_some_and(|first| first.role == Role::System)));
            messages.splice(at..at, oddity(number));
        }
        if waits {
            messages.push(Message::new(Role::Assistant, vec![call_block("bash", "waits")]));
        }
        messages
    })
}

type Oddity = fn(usize) -> Vec<Message>;

fn oddity() -> impl Strategy<Value = Oddity> {
    let oddities: Vec<Oddity> = vec![
        |_| vec![user(&output(9_000))],
        |_| vec![assistant(&output(9_000))],
        |number| vec![big_call(number), result(&format!("big{number}"), "written")],
        |number| vec![user("do it"), big_call(number), result(&format!("big{number}"), &output(6_000))],
        |_| vec![Message::new(Role::User, vec![image(), Block::text("look at this"), image(), image()])],
        |_| vec![Message::text(Role::System, "mind the gap")],
        |_| talk("a!"),
        |_| talk("u a u a~ u a*300 u"),
    ];
    prop::sample::select(oddities)
}

fn big_call(number: usize) -> Message {
    let input = format!("{{\"content\":\"{}\"}}", output(6_000).replace('\n', "\\n"));
    let call = ToolUse { id: format!("big{number}"), name: "write".to_owned(), input, extra: Fields::new() };
    Message::new(Role::Assistant, vec![Block::ToolUse(call)])
}

/// Some messages of a path, by number.
pub(crate) fn pins() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop_oneof![2 => Just(Vec::new()), 1 => vec(any::<prop::sample::Index>(), 1..5)]
}

pub(crate) fn numbers(pins: &[prop::sample::Index], messages: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> =
        pins.iter().filter(|_| messages > 0).map(|pin| pin.index(messages)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// What a plan is to be made of, whatever the path: cuts as shares of it, and what becomes of each stretch.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    stretches: Vec<(f64, u8, u64)>,
    placement: Placement,
    wording: Wording,
}

pub(crate) fn sketch() -> impl Strategy<Value = Sketch> {
    let usual = (0.1..0.9_f64, 1_u64..3_000).prop_map(|(cut, cap)| vec![(cut, 2, cap), (1.0, 0, 0)]);
    let any = vec((0.0..1.0_f64, 0_u8..5, 1_u64..1_500), 1..6);
    (prop_oneof![2 => usual, 1 => any], placement(), wording())
        .prop_map(|(stretches, placement, wording)| Sketch { stretches, placement, wording })
}

fn placement() -> impl Strategy<Value = Placement> {
    prop_oneof![3 => Just(Placement::Pair), 1 => Just(Placement::FirstUser), 1 => Just(Placement::System)]
}

fn wording() -> impl Strategy<Value = Wording> {
    let long = Wording { summary: format!("{}{{summary}}x", output(900)), acknowledgement: output(300) };
    let bare = Wording { summary: "{summary}".to_owned(), acknowledgement: "ok".to_owned() };
    prop_oneof![3 => Just(Wording::default()), 1 => Just(long), 1 => Just(bare)]
}

impl Sketch {
    /// A summary up to a share of the path, everything behind it as it was.
    pub(crate) fn usual(cut: f64, cap: u64) -> Self {
        let stretches = vec![(cut, 2, cap), (1.0, 0, 0)];
        Self { stretches, placement: Placement::Pair, wording: Wording::default() }
    }

    /// The plan for a path of so many messages.
    pub(crate) fn plan(&self, messages: usize, previous: Option<&Compaction>) -> Plan {
        let mut ends: Vec<usize> =
            self.stretches.iter().map(|(share, ..)| (share * messages as f64) as usize).collect();
        ends.sort_unstable();
        if let Some(last) = ends.last_mut() {
            *last = messages;
        }
        let mut parts = Vec::new();
        let mut start = 0;
        for (end, (_, fate, cap)) in ends.into_iter().zip(&self.stretches) {
            if end <= start {
                continue;
            }
            let range = start..end;
            start = end;
            parts.push(match fate {
                0 | 1 => Planned::Segment(Segment::Verbatim { range }),
                2 => Planned::Summary(SummaryTask::over(range, Level::Rolling, previous, Tokens(*cap))),
                3 => Planned::Segment(Segment::Summary {
                    range,
                    text: output(*cap as usize),
                    level: Level::Topic,
                }),
                _ => Planned::Segment(Segment::Omitted { range, note: "left out".to_owned() }),
            });
        }
        Plan { parts, placement: self.placement, wording: self.wording.clone(), favours: Favours::Recent }
    }
}

/// A summariser that says as much as it can, in words that do not split well; or fails.
pub(crate) struct Chatterbox {
    pub(crate) fails: bool,
}

impl Summarizer for Chatterbox {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        if self.fails {
            return Err(SummaryError("nobody is there".to_owned()));
        }
        let text = " unbelievably\n\n漢字🙂e\u{301}--- src/main.rs:42, "
            .repeat(1 + request.max_tokens.0 as usize / 4);
        Ok(format!("{}{text}", request.previous.join("\n")))
    }
}

pub(crate) fn fails() -> impl Strategy<Value = bool> {
    bool::weighted(0.1)
}

/// A budget as a number above the minimum, most of them small.
pub(crate) fn above_minimum() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0_u64), 2 => 0_u64..200, 3 => 0_u64..2_000, 2 => 0_u64..9_000]
}
