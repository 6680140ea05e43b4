//! Words of which one takes the place of another: who says "spaces" no longer wants tabs.

/// Rivals, what they are rivals in, and words one of which must stand beside them where they mean other things as well.
const GROUPS: &[(&str, &str, &str)] = &[
    ("indentation", "tabs tab spaces leerzeichen tabulatoren tabulations espaces tabuladores espacios", ""),
    ("database", "sqlite postgres postgresql mysql mariadb mongodb mongo duckdb cockroachdb dynamodb", ""),
    ("package-manager", "npm pnpm yarn bun", ""),
    ("python-packages", "pip uv poetry conda pipenv", ""),
    ("test-runner", "pytest unittest nose jest vitest mocha nextest", ""),
    ("formatter", "black ruff yapf prettier biome", ""),
    ("theme", "dark light", "mode theme background"),
    ("quotes", "single double", "quotes quote quoted"),
    (
        "language",
        "english german french spanish italian portuguese chinese japanese russian englisch deutsch französisch \
         spanisch anglais allemand français espagnol inglés alemán francés español",
        "answer answers reply replies respond responses write speak language antworte antworten schreib schreibe \
         sprich réponds répondez écris responde contesta escribe auf en",
    ),
    (
        "verbosity",
        "short brief concise terse detailed long verbose thorough kurz kurze kurzen ausführlich ausführliche \
         court courtes bref détaillées corto cortas breve detalladas",
        "answer answers reply replies response responses explanation explanations summary summaries be antworten \
         antworte réponses respuestas it",
    ),
    ("vcs-merge", "rebase merge squash", "commits branch branches pull pr prs"),
    ("units", "metric imperial celsius fahrenheit kilometers miles", ""),
    (
        "timing",
        "weekly daily monthly nightly hourly",
        "backup backups report reports run runs job jobs deploy",
    ),
];

/// The rivals among these words, each with the name of its group.
pub(super) fn among<'w>(words: &[&'w str]) -> Vec<(&'w str, &'static str)> {
    let lists = |list: &str, word: &str| list.split_ascii_whitespace().any(|listed| listed == word);
    let mut found = Vec::new();
    for (group, rivals, beside) in GROUPS {
        if beside.is_empty() || words.iter().any(|word| lists(beside, word)) {
            found.extend(words.iter().filter(|word| lists(rivals, word)).map(|word| (*word, *group)));
        }
    }
    found
}
