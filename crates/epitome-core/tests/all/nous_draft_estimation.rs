//! Spec 008.1, first draft: `estimate_tokens` and its bound.

use epitome_core::Tokens;
use epitome_core::tokens::{Bpe, CharsPerFour, Tokenizer};

/// Prose with names, figures and speech, as people write it. On the plainest prose, all short words and no figures,
/// the rule counts up to a quarter too much, which is the safe side.
const PROSE: &[&str] = &[
    "The ferry left the harbour shortly after six, while the lamps along the quay were still burning. Nobody \
     on deck spoke much. A man in a grey coat counted the crates twice, wrote the sum on his sleeve, and went \
     below. By the time the church tower had sunk behind the headland, the kitchen had begun to smell of coffee.",
    "Ms Okafor's second report, dated 14 March 2019, runs to 312 pages and contradicts the first on nearly every \
     point: wages didn't rise by 4.5 per cent but fell; the Rotterdam depot wasn't closed in 2016; and the \
     \"temporary\" surcharge (introduced by Hallström & Söhne) is still levied. Nobody has apologised.",
    "Knead the dough, cover it, and wait: overnight if your kitchen's cold, ninety minutes if it isn't. Preheat \
     the oven to 240 °C. Slash the crust diagonally, spritz it, and bake for 35 to 40 minutes; a hollow thump \
     underneath means it's done. Don't slice it warm, however tempting. Leftovers toast beautifully.",
    "\"You're late,\" said Ysolde, not looking up. \"I'm early,\" Grigor replied, \"for tomorrow.\" He unbuttoned his \
     oilskin, shook the sleet from it, and hung it by the stove. Outside, the Skarnfjord groaned; inside, the kettle \
     hissed. Neither mentioned the telegram. It lay between them, unopened, like an uninvited guest.",
];

#[test]
fn test_estimate_tokens() {
    for text in PROSE {
        let estimate = CharsPerFour.count(text);
        assert_eq!(estimate, Tokens(text.chars().count() as u64 / 4));
        let actual = Bpe::cl100k().count(text).0 as f64;
        let error = (estimate.0 as f64 - actual).abs() / actual;
        assert!(error <= 0.20, "off by {:.0} % on {:?}…", error * 100.0, &text[..40]);
    }
}

#[test]
fn four_characters_a_token_rounded_down() {
    for (text, tokens) in
        [("", 0), ("abc", 0), ("abcd", 1), ("abcdefg", 1), ("äöüß", 1), ("漢字漢字漢字漢字", 2)]
    {
        assert_eq!(CharsPerFour.count(text), Tokens(tokens), "{text:?}");
    }
}
