//! A reply is the same however it came: in whatever pieces, as a stream or at once.

use epitome_wire::reply::read_answer;
use epitome_wire::{Dialect, digest_of_json};
use proptest::collection::vec;
use proptest::prelude::*;

use super::streams::{Reply, anthropic, chat, responses};
use crate::support::cases;

fn reply() -> impl Strategy<Value = (Dialect, Reply)> {
    prop_oneof![
        anthropic().prop_map(|reply| (Dialect::Anthropic, reply)),
        chat().prop_map(|reply| (Dialect::Chat, reply)),
        responses().prop_map(|reply| (Dialect::Responses, reply)),
    ]
}

fn pieces<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_cut_gives_the_same_answer((dialect, reply) in reply(), cuts in vec(0usize..5000, 0..8)) {
        for (is_stream, text) in [(true, &reply.stream), (false, &reply.body)] {
            let whole = read_answer(dialect, is_stream, [text.as_bytes()].into_iter());
            let cut = read_answer(dialect, is_stream, pieces(text.as_bytes(), &cuts).into_iter());
            prop_assert_eq!(&cut, &whole);
            let bytes = read_answer(dialect, is_stream, text.as_bytes().chunks(1));
            prop_assert_eq!(&bytes, &whole);
        }
    }

    #[test]
    fn a_stream_says_what_the_body_says((dialect, reply) in reply()) {
        let streamed = read_answer(dialect, true, [reply.stream.as_bytes()].into_iter());
        let at_once = read_answer(dialect, false, [reply.body.as_bytes()].into_iter());
        let digests = |messages: &[String]| messages.iter().map(|message| digest_of_json(message)).collect::<Vec<_>>();
        prop_assert_eq!(digests(&streamed.messages), digests(&at_once.messages), "{:?} {:?}", streamed, at_once);
        prop_assert_eq!(streamed.usage, at_once.usage);
        prop_assert_eq!((&streamed.stop, &streamed.id), (&at_once.stop, &at_once.id));
        prop_assert!(streamed.is_whole && at_once.is_whole);
    }

    #[test]
    fn a_stream_that_breaks_off_gives_messages_that_can_be_read((dialect, reply) in reply(), end in 0usize..5000) {
        let end = end % (reply.stream.len() + 1);
        let answer = read_answer(dialect, true, [&reply.stream.as_bytes()[..end]].into_iter());
        for message in &answer.messages {
            prop_assert!(epitome_wire::decode_message(dialect, message).is_ok(), "{}", message);
        }
    }

    #[test]
    fn no_bytes_upset_it(
        (dialect, reply) in reply(), noise in vec((any::<u16>(), any::<u8>()), 0..20), is_stream in any::<bool>(),
    ) {
        let mut bytes = if is_stream { reply.stream } else { reply.body }.into_bytes();
        for (at, byte) in noise {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        for message in read_answer(dialect, is_stream, [&*bytes].into_iter()).messages {
            prop_assert!(epitome_wire::json::check(&message).is_ok(), "{}", message);
        }
    }
}
