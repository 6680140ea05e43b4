//! Where topics end: announcements in many languages, silences, seals, size, and changed words.

use epitome_core::topics::measure::{self, Score, Splice};
use epitome_core::topics::{Boundary, SubjectDetection, TopicSettings, Why, boundaries, seal_above};
use epitome_core::turn::is_plain_user_message;
use epitome_core::{Block, Message, Role, Time, Tokens};
use proptest::prelude::*;

use crate::conversations::conversation;
use crate::support::*;

fn found(messages: &[Message], seals: &[usize]) -> Vec<Boundary> {
    boundaries(&path(messages), messages, &TopicSettings::default(), seals)
}

fn phrase(text: &str) -> Option<&'static str> {
    let messages = [user("hello"), assistant("hi"), user(text)];
    match found(&messages, &[]).as_slice() {
        [] => None,
        [Boundary { at: 2, why: Why::Explicit { phrase } }] => Some(phrase),
        other => panic!("{text}: {other:?}"),
    }
}

const ANNOUNCED: &[(&str, &str)] = &[
    ("new topic", "new topic"),
    ("New topic: holidays in May", "new topic"),
    ("NEW TOPIC!", "new topic"),
    ("Ok, new topic. What is a monad?", "new topic"),
    ("Thanks, that works. Next topic please.", "next topic"),
    ("Let's move on.", "move on"),
    ("let’s move on", "move on"),
    ("Great, thanks! Let's move on to dinner plans", "move on"),
    ("can we move on to something else?", "move on"),
    ("Moving on: the invoice is still open", "moving on"),
    ("Changing the subject, did you see the news?", "changing the subject"),
    ("Let's change the subject.", "change the subject"),
    ("To change the subject for a moment: lunch", "to change the subject"),
    ("I'd like to switch topics", "switch topics"),
    ("let's switch gears and look at taxes", "switch gears"),
    ("Switching gears, how do I bake bread?", "switching gears"),
    ("On a different note, is the office open?", "on a different note"),
    ("on an unrelated note what's the weather", "on an unrelated note"),
    ("Unrelated question about my passport", "unrelated question"),
    ("Unrelated, but where do I park?", "unrelated, but"),
    ("Completely different question: who won?", "completely different question"),
    ("I have an unrelated question.", "i have an unrelated question"),
    ("And now for something completely different.", "and now for something completely different"),
    ("Let's talk about something else", "talk about something else"),
    ("Off-topic: nice weather", "off-topic"),
    ("Enough about that. Where were we going for lunch?", "enough about that"),
    ("anyway, I need a birthday present for Ann", "anyway"),
    ("Anyway - what's for dinner?", "anyway"),
    ("anyway, let's move on", "move on"),
    ("It works now, thank you.\n\nNew topic\nHow do I file taxes?", "new topic"),
    ("Neues Thema: Urlaub", "neues thema"),
    ("Ok, lass uns das Thema wechseln", "lass uns das thema wechseln"),
    ("Mal was anderes: kennst du ein Rezept?", "mal was anderes"),
    ("Kommen wir zu etwas anderem.", "kommen wir zu etwas anderem"),
    ("Changeons de sujet.", "changeons de sujet"),
    ("Bon, passons à autre chose", "passons à autre chose"),
    ("Nouveau sujet : les impôts", "nouveau sujet"),
    ("Rien à voir, mais tu connais Lyon ?", "rien à voir, mais"),
    ("Cambiando de tema, ¿qué comemos?", "cambiando de tema"),
    ("Nuevo tema: vacaciones", "nuevo tema"),
    ("Hablemos de otra cosa", "hablemos de otra cosa"),
    ("Cambiamo argomento!", "cambiamo argomento"),
    ("Ok, passiamo ad altro", "passiamo ad altro"),
    ("Mudando de assunto: o jantar", "mudando de assunto"),
    ("Vamos mudar de assunto", "vamos mudar de assunto"),
    ("Laten we het over iets anders hebben", "laten we het over iets anders hebben"),
    ("Zmieńmy temat", "zmieńmy temat"),
    ("Давай сменим тему", "давай сменим тему"),
    ("Новая тема: отпуск", "новая тема"),
    ("换个话题吧，你喜欢什么电影？", "换个话题"),
    ("好的。新话题：天气", "新话题"),
    ("我們換個話題", "我們換個話題"),
    ("話は変わりますが、明日の天気は？", "話は変わ"),
    ("別件ですが、請求書の件です", "別件ですが"),
    ("では、話題を変えましょう", "話題を変え"),
    ("주제를 바꾸자", "주제를 바꾸"),
    ("그건 그렇고, 점심 뭐 먹지?", "그건 그렇고"),
    ("موضوع جديد: السفر", "موضوع جديد"),
    ("विषय बदलते हैं", "विषय बदलते हैं"),
];

const NOT_ANNOUNCED: &[&str] = &[
    "let's move on to the next file",
    "Let's move on to step 3.",
    "move on to src/main.rs",
    "ok let's move on to the remaining tests",
    "We can move on to implementing the parser",
    "let's move on to parser.rs, it is shorter",
    "Let's not move on before this works",
    "We should not change the subject",
    "Don't change the topic yet",
    "Please change the subject line of the mail to hello",
    "create a new topic named orders in kafka",
    "new topic partitions must be created first",
    "new topics are created by the admin client",
    "The new topic is missing in the list",
    "He said \"new topic\" and left",
    "what does 'let's move on' mean in German?",
    "> new topic\n> let's move on\nwhat did he mean?",
    "```\nnew topic\nlet's move on\n```\nwhat is wrong with it?",
    "run `new topic` and tell me the output",
    "anyway it still fails",
    "Anyway, it still fails with the same error",
    "anyway, that's not what I meant",
    "it works anyway, let's see",
    "Anyway, thanks!",
    "unrelated changes should be reverted",
    "the two bugs are unrelated",
    "on a different machine it works",
    "I moved on to another team",
    "moving on to the next item",
    "switch the subject and the object in this sentence",
    "why does the cursor move on?",
    "<system-reminder>new topic</system-reminder>",
    "Das neue Thema ist noch nicht fertig",
    "neues Themenfeld anlegen",
    "le nouveau sujet du mail est vide",
    "el nuevo tema oscuro no carga",
    "这个新话题模型的准确率是多少？",
    "新しい話題のモデルを訓練して",
    "",
    "   ",
    "...",
];

#[test]
fn announcements_are_recognised_in_many_wordings_and_languages() {
    for (text, expected) in ANNOUNCED {
        assert_eq!(phrase(text), Some(*expected), "{text}");
    }
}

#[test]
fn what_only_looks_like_an_announcement_is_not_one() {
    for text in NOT_ANNOUNCED {
        assert_eq!(phrase(text), None, "{text}");
    }
}

#[test]
fn only_a_person_announces_a_topic_and_not_the_first() {
    let messages = [
        user("new topic: bread"),
        assistant("new topic"),
        user("go on"),
        call("bash", "1"),
        result("1", "new topic"),
        Message::text(Role::System, "new topic"),
        assistant("done"),
    ];
    assert_eq!(found(&messages, &[]), []);
}

#[test]
fn more_than_thirty_minutes_of_silence_end_a_topic() {
    let messages = [
        at(user("one"), 0),
        at(assistant("two"), 1),
        at(user("exactly thirty minutes later"), 31),
        at(assistant("three"), 32),
        user("nobody knows when"),
        at(user("thirty-one minutes later"), 63),
        // A tool that runs for an hour is no silence between people.
        at(call("bash", "1"), 64),
        at(result("1", "done"), 125),
        at(assistant("done"), 126),
        at(user("the clock ran backwards"), 3),
    ];
    assert_eq!(found(&messages, &[]), [Boundary { at: 5, why: Why::Silence { minutes: 31 } }]);
    let hour = TopicSettings { silence_minutes: 60, ..TopicSettings::default() };
    assert_eq!(boundaries(&path(&messages), &messages, &hour, &[]), []);
}

#[test]
fn a_seal_takes_effect_at_the_next_exchange() {
    let messages = [
        user("a"),
        assistant("b"),
        user("c"),
        call("bash", "1"),
        result("1", "d"),
        assistant("e"),
        user("f"),
    ];
    let manual = |at| Boundary { at, why: Why::Manual };
    let cases: &[(&[usize], &[Boundary])] = &[
        (&[], &[]),
        (&[0], &[]),
        (&[1], &[manual(2)]),
        (&[2], &[manual(2)]),
        (&[4], &[manual(6)]),
        (&[6, 1, 2, 5], &[manual(2), manual(6)]),
        (&[7], &[]),
        (&[99], &[]),
    ];
    for (seals, expected) in cases {
        assert_eq!(&found(&messages, seals), expected, "{seals:?}");
    }
    let longer = [messages.as_slice(), &[assistant("g"), user("h")]].concat();
    assert_eq!(found(&longer, &[7]), [manual(8)], "one at the end waits for the next message");
}

#[test]
fn a_topic_that_grows_too_large_is_sealed_before_the_next_exchange() {
    let messages: Vec<Message> =
        (0..6).flat_map(|number| [user(&format!("question {number}")), assistant(&output(400))]).collect();
    let path = path(&messages);
    let exchange = path[0].outline.tokens + path[1].outline.tokens;
    let most = exchange + exchange;
    let sealed = seal_above(&path, Vec::new(), 0, most);
    let places: Vec<usize> = sealed.iter().map(|boundary| boundary.at).collect();
    assert_eq!(places, [6], "two exchanges do not exceed the size of two, three do");
    assert!(matches!(sealed[0].why, Why::Threshold { tokens } if tokens > most));
    let known = vec![Boundary { at: 4, why: Why::Manual }];
    let places: Vec<usize> = seal_above(&path, known, 0, most).iter().map(|boundary| boundary.at).collect();
    assert_eq!(places, [4, 10], "a topic is measured from where it starts");
}

fn about(words: &[&str], exchanges: usize) -> Vec<Message> {
    let speak = |number: usize, voice: usize| {
        let picked: Vec<&str> =
            (0..12).map(|step| words[(number * 5 + voice * 3 + step * 7) % words.len()]).collect();
        format!("Please see about {}.", picked.join(" and "))
    };
    (0..exchanges).flat_map(|number| [user(&speak(number, 0)), assistant(&speak(number, 1))]).collect()
}

const GARDEN: &[&str] = &[
    "tomato",
    "seedling",
    "compost",
    "watering",
    "trellis",
    "pruning",
    "greenhouse",
    "aphid",
    "harvest",
    "fertiliser",
    "mulch",
    "raised-bed",
    "lettuce",
    "courgette",
    "frost",
    "sunlight",
];
const PARSER: &[&str] = &[
    "src/parser.rs",
    "token_stream",
    "grammar",
    "lookahead",
    "recursion",
    "ParseError",
    "precedence",
    "lexer",
    "tests/parse.rs",
    "backtracking",
    "ast_node",
    "unary",
    "operator",
    "span",
    "diagnostics",
    "macro_rules",
];
const TRAVEL: &[&str] = &[
    "Lisbon",
    "hotel",
    "flight",
    "luggage",
    "itinerary",
    "museum",
    "reservation",
    "passport",
    "train",
    "departure",
    "ticket",
    "beach",
    "restaurant",
    "currency",
    "insurance",
    "airport",
];

#[test]
fn changed_words_change_the_subject_if_that_is_asked_for() {
    let messages = [about(GARDEN, 6), about(PARSER, 6), about(TRAVEL, 6)].concat();
    assert_eq!(found(&messages, &[]), [], "ADR 033 knows only announced changes");
    let settings =
        TopicSettings { subject_detection: SubjectDetection::Cohesion, ..TopicSettings::default() };
    let expected = [12, 24].map(|at| Boundary { at, why: Why::Subject });
    assert_eq!(boundaries(&path(&messages), &messages, &settings, &[]), expected);
    let steady = about(GARDEN, 18);
    assert_eq!(boundaries(&path(&steady), &steady, &settings, &[]), []);
}

#[test]
fn the_measure_counts_seams_and_alarms() {
    let mut splice = Splice::default();
    for messages in [about(GARDEN, 6), about(PARSER, 6), about(TRAVEL, 6)] {
        let messages = [vec![Message::text(Role::System, "be brief")], messages].concat();
        splice.push(&path(&messages), &messages);
    }
    assert_eq!(splice.seams, [12, 24]);
    let perfect = measure::cohesion(&splice, 0);
    assert_eq!(perfect, Score { seams: 2, found: 2, right: 2, chances: 15 });

    let subject = |at| Boundary { at, why: Why::Subject };
    let guess = [subject(4), subject(14), subject(24)];
    let strict = measure::score(&splice.path, &guess, &splice.seams, 0);
    assert_eq!(strict, Score { seams: 2, found: 3, right: 1, chances: 15 });
    let lenient = measure::score(&splice.path, &guess, &splice.seams, 1);
    assert_eq!(lenient, Score { seams: 2, found: 3, right: 2, chances: 15 });
    assert!((lenient.precision() - 2.0 / 3.0).abs() < 1e-9 && (lenient.recall() - 1.0).abs() < 1e-9);
    assert_eq!(strict.plus(lenient).right, 3);
    assert!((Score::default().precision() - 1.0).abs() < 1e-9);
}

// Conversations in which things are announced now and then.
fn chatty() -> impl Strategy<Value = Vec<Message>> {
    (conversation(), proptest::collection::vec(0_usize..6, 80), proptest::collection::vec(0_i64..50, 80))
        .prop_map(|(mut messages, choices, gaps)| {
            let mut now = 0;
            for ((message, choice), gap) in messages.iter_mut().zip(choices).zip(gaps) {
                now += gap * 60_000;
                message.meta.time = (choice != 1).then_some(Time(now));
                if let (0, Role::User, [Block::Text(text)]) =
                    (choice, message.role, message.blocks.as_mut_slice())
                {
                    text.text.insert_str(0, "New topic. ");
                }
            }
            messages
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn boundaries_are_starts_of_exchanges_in_order(messages in chatty(), seals in proptest::collection::vec(0_usize..90, 0..4), most in 0_u64..900) {
        let path = path(&messages);
        let settings = TopicSettings { subject_detection: SubjectDetection::Cohesion, ..TopicSettings::default() };
        let found = boundaries(&path, &messages, &settings, &seals);
        let all = seal_above(&path, found.clone(), 0, Tokens(most));
        for list in [&found, &all] {
            prop_assert!(list.windows(2).all(|pair| pair[0].at < pair[1].at));
            prop_assert!(list.iter().all(|boundary| is_plain_user_message(&path[boundary.at].outline)));
        }
        prop_assert!(found.iter().all(|boundary| all.contains(boundary)));
        prop_assert_eq!(&found, &boundaries(&path, &messages, &settings, &seals), "and the same every time");
    }

    #[test]
    fn more_messages_never_move_a_boundary(messages in chatty(), seals in proptest::collection::vec(0_usize..90, 0..4), cut in 0_usize..80) {
        let cut = cut.min(messages.len());
        let mut expected = found(&messages, &seals);
        expected.retain(|boundary| boundary.at < cut);
        prop_assert_eq!(found(&messages[..cut], &seals), expected);
    }
}
