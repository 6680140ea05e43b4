//! What everyday shell commands do to files.

use super::call::within;
use super::shell::{self, Command, Joint};
use super::{Deed, Effect, patch};

/// How deep a shell in a shell is followed.
const DEEPEST: usize = 3;

/// One command of a script and what it does to files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The command's name.
    pub(super) name: String,
    /// What it does.
    pub(super) effects: Vec<Effect>,
    /// How it hangs on the step before it.
    joint: Joint,
}

impl Step {
    /// Whether the command only looks at things, so that what it prints is no report of its own.
    pub(super) fn only_looks(&self) -> bool {
        const LOOKERS: &[&str] = &[
            "cat", "head", "tail", "less", "more", "nl", "bat", "sed", "awk", "grep", "egrep", "fgrep", "rg",
            "ag", "find", "fd", "ls", "tree", "wc", "sort", "uniq", "cut", "tr", "diff", "cmp", "echo",
            "printf", "pwd", "cd", "jq", "xxd", "od", "hexdump", "strings", "stat", "file", "which", "env",
            "git", "column", "true",
        ];
        LOOKERS.contains(&self.name.as_str()) && self.effects.iter().all(|effect| effect.deed == Deed::Read)
    }
}

/// The steps of a script that starts in `folder`; `open` is the file that SWE-agent's editor has open.
pub(super) fn steps(script: &str, folder: Option<&str>, open: Option<&str>) -> Vec<Step> {
    let mut reading = Reading { folder: folder.map(str::to_owned), open, steps: Vec::new() };
    reading.script(script, 0);
    reading.steps
}

/// The steps of a command given as a list of words, as `["bash", "-lc", "…"]`.
pub(super) fn steps_of_words(words: &[&str], folder: Option<&str>, open: Option<&str>) -> Vec<Step> {
    let mut reading = Reading { folder: folder.map(str::to_owned), open, steps: Vec::new() };
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    reading.command(Command { words, ..Command::default() }, 0);
    reading.steps
}

/// What a failed script still did.
///
/// The error mostly names the command that failed (`sed: can't read …`); where it names none of them, the last
/// one failed. What stood before it was done, what hangs on it by `&&` or `|` was not, nor was the failed one itself;
/// but `rm` goes on after a file that it cannot remove and complains of each of those by name in its `output`.
pub(super) fn before_failure(steps: &[Step], error: &str, output: &str) -> Vec<Effect> {
    let named = |step: &Step| {
        error.match_indices(step.name.as_str()).any(|(at, name)| {
            let free = !error[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
            free && !name.is_empty() && error[at + name.len()..].starts_with(": ")
        })
    };
    let culprit = steps.iter().position(named).unwrap_or(steps.len().saturating_sub(1));
    let before = steps.iter().take(culprit);
    let after = steps.iter().skip(culprit + 1).skip_while(|step| step.joint != Joint::Always);
    let removed = steps.get(culprit).filter(|step| step.name == "rm" && output.contains("rm: "));
    let removed = removed.into_iter().flat_map(|step| &step.effects);
    let removed = removed.filter(|effect| !output.contains(effect.file.as_str()));
    before.chain(after).flat_map(|step| &step.effects).chain(removed).cloned().collect()
}

struct Reading<'a> {
    folder: Option<String>,
    open: Option<&'a str>,
    steps: Vec<Step>,
}

impl Reading<'_> {
    fn script(&mut self, script: &str, depth: usize) {
        for command in shell::commands(script) {
            self.command(command, depth);
        }
    }

    fn command(&mut self, mut command: Command, depth: usize) {
        let skip = command.words.iter().take_while(|word| is_prefix(word)).count();
        command.words.drain(..skip);
        let name = command.words.first().map(|word| base_name(word)).unwrap_or_default();
        let arguments: Vec<&str> = command.words.iter().skip(1).map(String::as_str).collect();
        match (name.as_str(), inner_script(&name, &arguments)) {
            (_, Some(inner)) if depth < DEEPEST => return self.script(inner, depth + 1),
            ("cd" | "pushd", _) => {
                if let [folder] = arguments.as_slice() {
                    self.folder = Some(within(self.folder.as_deref(), folder));
                }
            }
            _ => {}
        }
        let document = command.document.as_deref();
        let done = deeds(&name, &arguments, document, self.open);
        let looks = matches!(name.as_str(), "cat" | "head" | "tail" | "less" | "more" | "sort" | "nl");
        let input = command.input.as_deref().filter(|_| looks).map(|file| (Deed::Read, file));
        let outputs = command
            .outputs
            .iter()
            .map(|(file, append)| (if *append { Deed::Modify } else { Deed::Write }, file.as_str()));
        let effects = done
            .into_iter()
            .chain(input)
            .chain(outputs)
            .filter_map(|(deed, file)| Effect::new(deed, &within(self.folder.as_deref(), file)));
        let mut effects: Vec<Effect> = effects.collect();
        if matches!(name.as_str(), "apply_patch" | "applypatch" | "patch")
            || name == "git" && arguments.first() == Some(&"apply")
        {
            let text = document.or(arguments.first().copied()).unwrap_or_default();
            let folder = self.folder.as_deref();
            effects.extend(
                patch::effects(text)
                    .into_iter()
                    .map(|effect| Effect { file: within(folder, &effect.file), ..effect }),
            );
        }
        self.steps.push(Step { name, effects, joint: command.joint });
    }
}

// `sudo`, `time`, `FOO=bar` and the like stand before the command proper; so do the words of control structures.
fn is_prefix(word: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "sudo", "time", "command", "nohup", "exec", "env", "then", "do", "else", "!", "{", "if", "while",
        "builtin",
    ];
    let assignment = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    PREFIXES.contains(&word) || assignment
}

fn base_name(word: &str) -> String {
    word.rsplit('/').next().unwrap_or(word).to_owned()
}

fn inner_script<'a>(name: &str, arguments: &[&'a str]) -> Option<&'a str> {
    if !matches!(name, "bash" | "sh" | "zsh" | "dash") {
        return None;
    }
    let flag = arguments.iter().position(|word| word.starts_with('-') && word.ends_with('c'))?;
    arguments.get(flag + 1).copied()
}

type Deeds<'a> = Vec<(Deed, &'a str)>;

fn deeds<'a>(name: &str, arguments: &[&'a str], document: Option<&str>, open: Option<&'a str>) -> Deeds<'a> {
    let plain = || arguments.iter().copied().filter(|word| !word.starts_with('-'));
    let all = |deed| plain().map(|file| (deed, file)).collect();
    match name {
        "cat" | "less" | "more" | "bat" | "nl" | "xxd" | "od" | "hexdump" | "diff" | "cmp" => all(Deed::Read),
        "head" | "tail" => without_values(arguments, &["-n", "-c"]).map(|file| (Deed::Read, file)).collect(),
        "sed" => sed(arguments),
        "perl" if arguments.iter().any(|flag| is_in_place(flag)) => in_place(arguments),
        "awk" | "gawk" | "jq" => {
            without_values(arguments, &["-F", "-v", "--arg"]).skip(1).map(|file| (Deed::Read, file)).collect()
        }
        // A folder goes with all that is in it.
        "rm" | "unlink" | "shred" => plain().map(|file| (Deed::Delete, file.trim_end_matches('/'))).collect(),
        "touch" | "truncate" => without_values(arguments, &["-s", "-t", "-d", "-r"])
            .map(|file| (if name == "touch" { Deed::Write } else { Deed::Modify }, file))
            .collect(),
        "tee" => {
            let appends = arguments.iter().any(|flag| matches!(*flag, "-a" | "--append"));
            all(if appends { Deed::Modify } else { Deed::Write })
        }
        "mv" => to_target(&plain().collect::<Vec<_>>(), Deed::Delete),
        "cp" | "install" => to_target(&plain().collect::<Vec<_>>(), Deed::Read),
        "ln" => plain().nth(1).map(|link| (Deed::Write, link)).into_iter().collect(),
        "dd" => plain().filter_map(|word| Some((Deed::Write, word.strip_prefix("of=")?))).collect(),
        "curl" => {
            value_of(arguments, &["-o", "--output"]).map(|file| (Deed::Write, file)).into_iter().collect()
        }
        "wget" => value_of(arguments, &["-O", "--output-document"])
            .map(|file| (Deed::Write, file))
            .into_iter()
            .collect(),
        "git" => git(arguments),
        // SWE-agent's own commands.
        "open" => plain().next().map(|file| (Deed::Read, file)).into_iter().collect(),
        "create" => plain().next().map(|file| (Deed::Create, file)).into_iter().collect(),
        "edit" | "insert" if document.is_none() => {
            let at_lines =
                arguments.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
            open.filter(|_| at_lines).map(|file| (Deed::Modify, file)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn sed<'a>(arguments: &[&'a str]) -> Deeds<'a> {
    if arguments.iter().any(|flag| is_in_place(flag) || *flag == "--in-place") {
        return in_place(arguments);
    }
    scripted(arguments).map(|file| (Deed::Read, file)).collect()
}

// `-i`, `-i.bak`, `-ni`, `-pi`; not `--include`.
fn is_in_place(flag: &str) -> bool {
    let letters = flag.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    letters.is_some_and(|letters| letters.starts_with('i') || letters.len() <= 3 && letters.ends_with('i'))
}

fn in_place<'a>(arguments: &[&'a str]) -> Deeds<'a> {
    scripted(arguments).map(|file| (Deed::Modify, file)).collect()
}

// The files of a command whose first plain argument is a script, unless `-e` or `-f` brings it.
fn scripted<'a, 'w>(arguments: &'w [&'a str]) -> impl Iterator<Item = &'a str> + use<'a, 'w> {
    // With `-i ''`, as on a Mac, the empty word is the ending of the copy.
    let brought = arguments.iter().any(|flag| {
        matches!(*flag, "-e" | "-f" | "--expression")
            || flag.starts_with("-e")
            || flag.ends_with('e') && flag.starts_with("-p")
    });
    without_values(arguments, &["-e", "-f", "-pe", "-pie"])
        .filter(|word| !word.is_empty())
        .skip(usize::from(!brought))
}

// Plain arguments, those left out that are values of these flags.
fn without_values<'a, 'w>(
    arguments: &'w [&'a str],
    flags: &'static [&'static str],
) -> impl Iterator<Item = &'a str> + use<'a, 'w> {
    let mut is_value = false;
    arguments.iter().copied().filter(move |word| {
        let skip = std::mem::replace(&mut is_value, flags.contains(word));
        !skip && !word.starts_with('-') && !word.starts_with('+')
    })
}

fn value_of<'a>(arguments: &[&'a str], flags: &[&str]) -> Option<&'a str> {
    let at = arguments.iter().position(|word| flags.contains(word))?;
    arguments.get(at + 1).copied()
}

// The target of a copy of several files is a folder, whose new files have no name here.
fn to_target<'a>(files: &[&'a str], source: Deed) -> Deeds<'a> {
    match files {
        [from, to] if !to.ends_with('/') && !matches!(*to, "." | "..") => {
            vec![(source, from), (Deed::Write, to)]
        }
        [from @ .., _] => from.iter().map(|file| (source, *file)).collect(),
        [] => Vec::new(),
    }
}

fn git<'a>(arguments: &[&'a str]) -> Deeds<'a> {
    let plain: Vec<&str> = arguments.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let dashes = arguments.iter().position(|word| *word == "--");
    let named = || dashes.map(|at| arguments.get(at + 1..).unwrap_or_default()).unwrap_or_default();
    match plain.split_first() {
        Some((&"rm", files)) if !arguments.contains(&"--cached") => {
            files.iter().map(|file| (Deed::Delete, *file)).collect()
        }
        Some((&"mv", files)) => to_target(files, Deed::Delete),
        Some((&"restore", files)) if !arguments.contains(&"--staged") => {
            files.iter().map(|file| (Deed::Modify, *file)).collect()
        }
        Some((&"checkout", _)) => named().iter().map(|file| (Deed::Modify, *file)).collect(),
        _ => Vec::new(),
    }
}
