//! Excerpts and names: exact, cheap, and understood in the copies that models make of them.

use epitome_core::Role;
use epitome_core::checkpoint::{Checkpoint, Excerpt, Item, Name, Section, drift, merge, validate};

use crate::checkpoint::{excerpt, items, names};

fn told(checkpoint: &Checkpoint) -> String {
    let lines = checkpoint.excerpts.iter().map(|excerpt| {
        let source = excerpt.source().map(|source| format!("{} {}", source.message, source.role));
        let text = excerpt.pieces().join(" | ").replace('\n', "/");
        format!("#{}: {text}", source.unwrap_or_default())
    });
    let names: Vec<&str> = checkpoint.names.iter().map(Name::as_str).collect();
    let names = (!names.is_empty()).then(|| format!("names: {}", names.join(" ")));
    let context = checkpoint.context.iter().map(|item| format!("context: {}", item.text()));
    let other = checkpoint.other.iter().flat_map(|section| &section.items).map(Item::text);
    let other = other.map(|text| format!("other: {text}"));
    lines.chain(names).chain(context).chain(other).collect::<Vec<_>>().join("\n")
}

#[test]
fn copies_that_models_make_are_understood() {
    let mut failures = Vec::new();
    for (name, text, expected) in CASES {
        let parsed = Checkpoint::parse(text).checkpoint;
        let understood = told(&parsed);
        if understood != expected {
            failures.push(format!("== {name}\n{understood}\n-- expected\n{expected}"));
        }
        assert_eq!(Checkpoint::parse(&parsed.render()).checkpoint, parsed, "{name}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

const CASES: [(&str, &str, &str); 19] = [
    (
        "as it is written",
        "## Critical Context\n- a port\n### Excerpts\n#12 tool\n error: x\n     at y\n\n tail\n#\n hi\n### Names\n a.rs b\n",
        "#12 tool: error: x/    at y | tail\n#: hi\nnames: a.rs b\ncontext: a port",
    ),
    (
        "behind bullets",
        "### Excerpts\n- #12 tool\n  error: x\n      at y\n\n  tail\n- #13 user\n  hi\n",
        "#12 tool: error: x/    at y | tail\n#13 user: hi",
    ),
    (
        "each in a code block, with and without its spaces",
        "### Excerpts\n#12 tool\n```\n error: x\n     at y\n```\n#13 user\n```text\nhi\n  there\n```\n",
        "#12 tool: error: x/    at y\n#13 user: hi/  there",
    ),
    (
        "all in one code block",
        "### Excerpts\n```\n#12 tool\n error: x\n\n tail\n#13 user\n # hi\n```\n## Next Steps\n1. go",
        "#12 tool: error: x | tail\n#13 user: # hi",
    ),
    (
        "without spaces",
        "### Excerpts\n#12 tool\nerror: x\n    at y\n\ntail\n#13 user\nhi\n",
        "#12 tool: error: x/    at y | tail\n#13 user: hi",
    ),
    (
        "under headings of their own",
        "## Excerpts\n### #12 tool\nerror: x\n#### a heading\n### #13 user\nhi\n\n## Team\n- Ana\n",
        "#12 tool: error: x/#### a heading\n#13 user: hi\nother: Ana",
    ),
    (
        "as items",
        "### Excerpts\n- error: x (#12 tool)\n- hi (#13 user)\n",
        "#12 tool: error: x\n#13 user: hi",
    ),
    ("without sources", "### Excerpts\n> error: x\n> at y\n\n- tail\n", "#: error: x/at y | tail"),
    (
        "in a list of titles",
        "- Goal: ship\n- Excerpts:\n  - #12 tool\n    error: x\n      at y\n- Names:\n  - a_b\n  - `c_d`\n",
        "#12 tool: error: x/  at y\nnames: a_b c_d",
    ),
    (
        "in tags",
        "<summary>\n  <excerpts>\n  #12 tool\n   error: x\n  </excerpts>\n  <names>\n  a_b, src/a.rs\n  </names>\n</summary>",
        "#12 tool: error: x\nnames: a_b src/a.rs",
    ),
    (
        "as JSON",
        r##"{"excerpts": [{"pieces": ["error: x\n    at y", "tail"], "source": {"message": 12, "role": "tool"}}, {"message": 13, "role": "User", "text": "hi"}, "#14 user\n ho", "he"], "names": ["a_b", "c"]}"##,
        "#12 tool: error: x/    at y | tail\n#13 user: hi\n#14 user:  ho\n#: he\nnames: a_b c",
    ),
    (
        "with dots for what was left out",
        "### Excerpts\n#12 tool\nerror: x\n[...]\ntail",
        "#12 tool: error: x | tail",
    ),
    ("none", "### Excerpts\n(none)\n\n### Names\nNone\n", ""),
    (
        "names as bullets",
        "### Names\n- parse_header\n  - `src/a.rs`\n* Vec<u8>\n",
        "names: parse_header src/a.rs Vec<u8>",
    ),
    (
        "names without spaces",
        "### Names\nparse_header src/a.rs --flag\nW2378156 run\n",
        "names: parse_header src/a.rs --flag W2378156 run",
    ),
    ("names behind a title", "## Goal\nship\n**Names:** `Ana`, `Ben`\n", "names: Ana Ben"),
    ("names in a code block", "### Names\n```text\n a_b c_d\n```\n", "names: a_b c_d"),
    (
        "what is said of names",
        "## Names\n- Ana owns CSS\n- `a_b`: reads the header\n",
        "context: Names: Ana owns CSS\ncontext: Names: `a_b`: reads the header",
    ),
    ("closing words", "### Names\n a_b\n\nLet me know if you need more.\n", "names: a_b"),
];

#[test]
fn whatever_stands_behind_a_space_is_left_alone() {
    let quoted = "<thinking>hm</thinking>\n```\n## Goal\n#12 tool\n</summary>\n> \\- [x] a (#3 user)";
    let checkpoint = Checkpoint {
        goal: Item::new("ship", None),
        excerpts: vec![excerpt(&[quoted, "Let me know if you need more."], 3, Role::Assistant)],
        names: names("- * [x] ## ``` <names> Let me know if you"),
        ..Checkpoint::default()
    };
    let page = checkpoint.render();
    for text in
        [page.clone(), format!("Here is the checkpoint:\n\n{page}"), format!("<summary>\n{page}\n</summary>")]
    {
        assert_eq!(Checkpoint::parse(&text).checkpoint, checkpoint, "{text}");
    }
}

#[test]
fn a_line_of_signs_underlines_no_source() {
    for signs in ["===", "---", "***", "|---|"] {
        let excerpts =
            vec![Excerpt::new(vec![signs.to_owned()], None).unwrap(), excerpt(&[signs], 1, Role::Tool)];
        let checkpoint = Checkpoint { excerpts, names: names(signs), ..Checkpoint::default() };
        assert_eq!(Checkpoint::parse(&checkpoint.render()).checkpoint, checkpoint, "{signs}");
    }
}

#[test]
fn excerpts_alone_are_critical_context() {
    let long = excerpt(&[&"a line of some length\n".repeat(20)], 3, Role::Tool);
    for (excerpts, names) in [
        (vec![long.clone()], vec![]),
        (vec![long], names("a b")),
        (vec![], names("name ".repeat(60).trim_end())),
    ] {
        let checkpoint =
            Checkpoint { goal: Item::new("ship", None), excerpts, names, ..Checkpoint::default() };
        let page = checkpoint.render();
        assert!(validate(&page).is_ok(), "{page}");
        assert_eq!(page.matches("## Critical Context").count(), 1);
    }
}

#[test]
fn merged_excerpts_stand_in_the_order_of_their_messages_and_names_in_that_of_their_age() {
    let first = excerpt(&["a", "b"], 2, Role::User);
    let (later, same_text) = (excerpt(&["c"], 9, Role::Tool), excerpt(&["c"], 11, Role::Tool));
    let unknown = Excerpt::new(vec!["d".to_owned()], None).unwrap();
    let old = Checkpoint {
        excerpts: vec![first.clone(), later.clone()],
        names: names("a b c"),
        ..Checkpoint::default()
    };
    let new = Checkpoint {
        excerpts: vec![same_text.clone(), later.clone(), excerpt(&["e"], 5, Role::User), unknown.clone()],
        names: names("b d d"),
        ..Checkpoint::default()
    };
    let merged = merge(old, new);
    assert_eq!(merged.excerpts, [unknown, first, excerpt(&["e"], 5, Role::User), later, same_text]);
    assert_eq!(merged.names, names("a c b d"));
}

#[test]
fn the_oldest_excerpts_go_first_and_then_the_oldest_names() {
    let full = Checkpoint {
        constraints: items(&["no unsafe"]),
        excerpts: (0..4).map(|message| excerpt(&["a line"], message, Role::Tool)).collect(),
        names: names("n0 n1 n2 n3"),
        ..Checkpoint::default()
    };
    let mut seen = Vec::new();
    for most in (0..full.render().len()).rev() {
        let mut less = full.clone();
        less.shrink(&|text| text.len() <= most);
        if less.constraints.is_empty() {
            break;
        }
        assert!(full.excerpts.ends_with(&less.excerpts) && full.names.ends_with(&less.names));
        seen.push((less.excerpts.len(), less.names.len()));
    }
    seen.dedup();
    assert_eq!(seen, [(3, 4), (2, 4), (1, 4), (0, 4), (0, 3), (0, 2), (0, 1), (0, 0)]);
}

#[test]
fn drift_takes_excerpts_and_names_by_the_letter() {
    let old = Checkpoint {
        excerpts: vec![
            excerpt(&["if a { b }"], 1, Role::Tool),
            excerpt(&["gone and forgotten"], 2, Role::Tool),
        ],
        names: names("parse_header W1"),
        ..Checkpoint::default()
    };
    let new = Checkpoint {
        excerpts: vec![excerpt(&["if a { b }"], 1, Role::Tool)],
        names: names("ParseHeader parse-header W2"),
        ..Checkpoint::default()
    };
    let change = drift(&old, &new);
    let of = |section| change.sections.iter().find(|it| it.section == section).unwrap();
    assert_eq!((of(Section::Excerpts).kept, of(Section::Excerpts).lost), (1, 1));
    assert_eq!((of(Section::Names).kept, of(Section::Names).changed, of(Section::Names).lost), (0, 1, 1));
}
