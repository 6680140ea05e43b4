//! Bodies whose messages are known: compaction decides as on fresh messages, and counts nothing twice.

use std::sync::atomic::{AtomicUsize, Ordering};

use epitome_core::compact::{LeadingSentences, Request, StrategyName, compact, dry_run};
use epitome_core::settings::Settings;
use epitome_core::tokens::{CharsPerFour, Counter, ImagePricing, Tokenizer};
use epitome_core::{Chars, Message, Tokens};
use epitome_wire::{Body, Dialect, Known, Sketches};
use proptest::prelude::*;

use crate::requests::{body_text, lengthened, messages_of};
use crate::scripts::script;

/// Counts by length, and how often it has been asked to.
#[derive(Debug)]
struct Asked(AtomicUsize);

impl Tokenizer for Asked {
    fn name(&self) -> &'static str {
        "asked"
    }

    fn count(&self, text: &str) -> Tokens {
        self.0.fetch_add(1, Ordering::Relaxed);
        CharsPerFour.count(text)
    }
}

fn settings(strategy: StrategyName) -> Settings {
    let mut settings = Settings::default();
    settings.compact.strategy = strategy;
    settings.compact.summary_token_budget = Tokens(100);
    settings.compact.keep_recent_tokens = Tokens(3_000);
    settings.prune.clear_at_least = Tokens(500);
    settings.prune.tool_soft_trim_chars = Chars(1_000);
    settings.prune.tool_soft_trim_head = Chars(300);
    settings.prune.tool_soft_trim_tail = Chars(300);
    settings
}

proptest! {
    #![proptest_config(crate::support::cases(24))]

    #[test]
    fn a_known_body_is_compacted_as_its_messages_are(script in script(), share in 1_u64..12) {
        // Tests of one property run one after another, so nobody else asks meanwhile.
        static ASKED: Asked = Asked(AtomicUsize::new(0));
        for dialect in Dialect::ALL {
            let once = lengthened(dialect, script.in_dialect(dialect));
            let source: Vec<Message> = (0..6).flat_map(|_| once.iter().cloned()).collect();
            let text = body_text(dialect, &source);
            let messages = messages_of(dialect, &text);
            let body = Body::scan(dialect, &text).unwrap();
            let sketches = Sketches::new(Counter::new(&ASKED, ImagePricing::Anthropic), 10_000);
            let known = Known::of(&body, &sketches).unwrap();
            let path = known.path(&[]);
            let plain = |text: &str| CharsPerFour.count(text);
            let whole: Tokens = path.iter().map(|entry| entry.outline.tokens).sum();
            for strategy in StrategyName::ALL {
                let settings = settings(strategy);
                let request = Request { budget: Some(Tokens(whole.0 / share)), ..Request::new(&settings) };
                let preview = dry_run(&path, &messages, &request, &mut LeadingSentences, &known);
                prop_assert_eq!(&preview, &dry_run(&path, &messages, &request, &mut LeadingSentences, &plain));

                let before = ASKED.0.load(Ordering::Relaxed);
                prop_assert_eq!(&preview, &dry_run(&path, &messages, &request, &mut LeadingSentences, &known));
                prop_assert_eq!(ASKED.0.load(Ordering::Relaxed), before, "{:?} counts again", strategy);

                let mut summarizer = epitome_core::compact::LeadingSentences;
                let compacted = compact(&path, &messages, &request, &mut summarizer, &known);
                prop_assert_eq!(compacted, compact(&path, &messages, &request, &mut summarizer, &plain));
            }
        }
    }
}
