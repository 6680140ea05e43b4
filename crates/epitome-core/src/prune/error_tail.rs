//! Finds the error at the end of a tool's output: the part that stays worth reading when the rest is cleared.
//!
//! It reads lines, not languages: a cheap look at the last lines for the words that compilers, test
//! runners, shells and runtimes fail with. A miss costs the model a recall, a false alarm some tokens.

use crate::units::Chars;

/// The longest end of a text that is looked at, and so the longest that can be kept.
pub const LONGEST_ERROR_TAIL: Chars = Chars(1_000);

const LINES: usize = 24;
const FLAGGED_TAIL: usize = 400;
const LINE_BYTES: usize = 400;

/// Whether the tool itself said that it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did.
    Failed,
    /// It said nothing of the kind.
    Unknown,
}

/// The length of the error that `text` ends in, in whole lines; zero where it ends in none.
///
/// Where the tool reported failure, or the first line gives a failing exit code, but no line looks like
/// the error, the last few lines stand for it.
pub(crate) fn error_tail(text: &str, outcome: Outcome) -> Chars {
    let found = last_error(text);
    if found > Chars::ZERO {
        return found;
    }
    let head = text.lines().next().map(bounded).and_then(exit_code);
    match (outcome, head) {
        (Outcome::Failed, _) | (_, Some(Exit::Failure)) => last_lines(text, FLAGGED_TAIL),
        _ => Chars::ZERO,
    }
}

// From the end upwards: the highest error line that no success stands below.
fn last_error(text: &str) -> Chars {
    let (mut length, mut found) = (Chars::ZERO, Chars::ZERO);
    for line in text.split_inclusive('\n').rev().take(LINES) {
        // A longer line is not an error message but data, and counting it would cost its length.
        if line.len() > LONGEST_ERROR_TAIL.0 * 4 {
            break;
        }
        length += Chars::of(line);
        if length > LONGEST_ERROR_TAIL {
            break;
        }
        match classify(bounded(line)) {
            Line::Error => found = length,
            Line::Success => break,
            Line::Other => {}
        }
    }
    found
}

/// The line that tells most of an error: the last exception, or else the first line that looks like an error, or
/// else the last one. Exit codes and bare tags tell nothing.
pub(crate) fn telling_line(error: &str) -> &str {
    let is_tag = |line: &str| line.starts_with('<') && line.ends_with('>') && !line.contains(' ');
    let tells = |line: &&str| !line.is_empty() && !is_tag(line) && exit_code(line).is_none();
    // pytest sets an `E` before the lines of an error.
    let without_sign =
        |line: &'_ str| line.strip_prefix("E  ").map_or(line.len(), |rest| rest.trim_start().len());
    let exception = |line: &&str| names_an_exception(&line[line.len() - without_sign(line)..]);
    let header = |line: &&str| line.ends_with(':') || line.starts_with("Traceback");
    let lines = || error.lines().rev().take(LINES).map(bounded).filter(tells);
    lines()
        .find(exception)
        .or_else(|| lines().filter(|line| classify(line) == Line::Error && !header(line)).last())
        .or_else(|| lines().next())
        .unwrap_or_else(|| bounded(error))
}

fn last_lines(text: &str, at_most: usize) -> Chars {
    let mut kept = Chars::ZERO;
    for line in text.split_inclusive('\n').rev() {
        let length = Chars(line.chars().take(at_most + 1).count());
        if (kept + length).0 > at_most {
            break;
        }
        kept += length;
    }
    if kept == Chars::ZERO { Chars(text.chars().rev().take(at_most).count()) } else { kept }
}

fn bounded(line: &str) -> &str {
    let line = line.trim();
    let mut end = line.len().min(LINE_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Error,
    Success,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Success,
    Failure,
}

const SUCCESSES: &[&str] = &[
    "test result: ok",
    "build successful",
    "build succeeded",
    "all tests passed",
    "no errors",
    "no issues found",
    "0 errors",
    "0 error(s)",
    "0 failed",
    "0 failures",
    "completed successfully",
];
const STARTS: &[&str] = &[
    "traceback (most recent call last)",
    "error:",
    "error[",
    "error -",
    "error ts",
    "error cs",
    "error in ",
    "errors:",
    "fatal:",
    "fatal error",
    "panic:",
    "goroutine 1 [running]",
    "exception in thread",
    "unhandled exception",
    "uncaught ",
    "caused by:",
    "npm err!",
    "npm error",
    "failed",
    "fail:",
    "fail\t",
    "failures:",
    "--- fail",
    "build failed",
    "failure:",
    "e   ",
    "err:",
    "make: ***",
    "killed",
    "aborted",
];
const ANYWHERE: &[&str] = &[
    ": error:",
    ": fatal error:",
    " error ts",
    ": error cs",
    "panicked at",
    "segmentation fault",
    "core dumped",
    "command not found",
    "no such file or directory",
    "permission denied",
    "... failed",
    "test result: failed",
    "timed out after",
    "out of memory",
    "undefined reference to",
    "cannot find module",
    "syntax error",
    "returned non-zero",
];

fn classify(line: &str) -> Line {
    if line.is_empty() {
        return Line::Other;
    }
    match exit_code(line) {
        Some(Exit::Failure) => return Line::Error,
        Some(Exit::Success) => return Line::Success,
        None => {}
    }
    let lower = line.to_ascii_lowercase();
    match counted_failures(&lower) {
        Some(0) => return Line::Success,
        Some(_) => return Line::Error,
        None => {}
    }
    if SUCCESSES.iter().any(|phrase| lower.contains(phrase)) {
        return Line::Success;
    }
    if looks_like_code(line) {
        return Line::Other;
    }
    let starts = STARTS.iter().any(|phrase| lower.starts_with(phrase));
    if starts || ANYWHERE.iter().any(|phrase| lower.contains(phrase)) || names_an_exception(line) {
        Line::Error
    } else {
        Line::Other
    }
}

// Source code talks of errors without being one: `error: String,`, `except ValueError:`, `raise X;`.
fn looks_like_code(line: &str) -> bool {
    const KEYWORDS: &[&str] =
        &["except ", "raise ", "throw ", "catch ", "} catch", "return ", "if ", "//", "# ", "* ", "assert"];
    line.ends_with([',', ';', '{', '}', '(', '[', '=', '\\'])
        || KEYWORDS.iter().any(|keyword| line.starts_with(keyword))
            && !line.starts_with("assertion")
            && !line.starts_with("AssertionError")
}

// `ValueError: bad input`, `java.lang.IllegalStateException: …`, `Foo::Error: …` at the start of a line.
fn names_an_exception(line: &str) -> bool {
    let name = line.split([':', ' ']).next().unwrap_or_default();
    let name = if name.len() < line.len() && line[name.len()..].starts_with("::") {
        line.split(": ").next().unwrap_or_default()
    } else {
        name
    };
    let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | ':' | '$'));
    let ends = ["Error", "Exception", "Interrupt", "Panic"].iter().any(|end| name.ends_with(end));
    let ends_the_line = line.len() == name.len();
    is_name
        && ends
        && (ends_the_line && name.len() > "Exception".len() || line[name.len()..].starts_with(": "))
}

// The largest count in front of a word for failure: `2 failed, 3 passed`, `Found 0 errors.`
fn counted_failures(lower: &str) -> Option<u64> {
    const WORDS: &[&str] = &["error", "failed", "failure", "failing", "problem"];
    let mut most = None;
    for word in WORDS {
        for (at, _) in lower.match_indices(word) {
            let digits_end = lower[..at].trim_end_matches(' ').len();
            let before = &lower[..digits_end];
            let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            let count = before[digits_end - digits..].parse::<u64>().ok();
            // `http2 failed` and `1.0 error` are names and versions, not counts.
            let clean = !before[..digits_end - digits].ends_with(|c: char| c.is_alphanumeric() || c == '.');
            if let Some(count) = count.filter(|_| clean && digits_end < at) {
                most = most.max(Some(count));
            }
        }
    }
    most
}

// `exit code: 1`, `Exit status 0`, `exited with 127`, `<returncode>1</returncode>`, `"exit_code": 2`.
fn exit_code(line: &str) -> Option<Exit> {
    const WORDS: &[&str] =
        &["exit code", "exit_code", "exitcode", "exit status", "exited with", "returncode", "return code"];
    let lower = line.to_ascii_lowercase();
    let (at, word) = WORDS.iter().find_map(|word| lower.find(word).map(|at| (at, *word)))?;
    let rest = &lower[at + word.len()..];
    let number = rest.find(|c: char| c.is_ascii_digit()).filter(|gap| *gap <= 12)?;
    let digits = &rest[number..];
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let zero = digits[..end].bytes().all(|digit| digit == b'0');
    Some(if zero { Exit::Success } else { Exit::Failure })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(text: &str) -> &str {
        let chars = error_tail(text, Outcome::Unknown).0;
        let from = text.char_indices().rev().nth(chars.wrapping_sub(1)).map_or(text.len(), |(at, _)| at);
        if chars == 0 { "" } else { &text[from..] }
    }

    #[test]
    fn errors_of_many_trades_are_seen() {
        let errors = [
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nValueError: bad input",
            "error[E0308]: mismatched types\n --> src/lib.rs:3:5",
            "error: could not compile `x` (lib) due to 2 previous errors",
            "thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds",
            "main.c:3:5: error: expected ';' before 'return'",
            "src/a.ts(3,1): error TS2304: Cannot find name 'x'.",
            "FAILED tests/test_a.py::test_b - AssertionError: 1 != 2",
            "=== 2 failed, 31 passed in 0.12s ===",
            "--- FAIL: TestParse (0.00s)",
            "npm ERR! code ELIFECYCLE",
            "Exception in thread \"main\" java.lang.IllegalStateException: closed",
            "java.lang.NullPointerException: at Foo.bar",
            "bash: frobnicate: command not found",
            "cat: x: No such file or directory",
            "Segmentation fault (core dumped)",
            "Process exited with code 137",
            "exit status 2",
            "<returncode>1</returncode>",
            "{\"exit_code\": 1}",
            "fatal: not a git repository (or any of the parent directories): .git",
            "test parse::empty ... FAILED",
            "Found 3 errors in 2 files.",
            "BUILD FAILED in 3s",
            "KeyboardInterrupt",
            "make: *** [Makefile:3: all] Error 2",
        ];
        for error in errors {
            let text = format!("compiling\n17 files read\n{error}");
            assert_eq!(tail(&text), error, "{error}");
        }
    }

    #[test]
    fn success_and_talk_of_errors_is_not_an_error() {
        let fine = [
            "",
            "ok",
            "0 errors, 0 warnings",
            "test result: ok. 31 passed; 0 failed; 0 ignored",
            "Found 0 errors in 3 files",
            "error: flaky\nretry\nexit code: 0",
            "ERROR: first attempt\nBUILD SUCCESSFUL in 2s",
            "no errors found",
            "    error: String,",
            "    except ValueError:",
            "    raise ValueError(\"bad\")",
            "pub enum Error {",
            "   12\tfn report(error: &str) -> Result<(), Error> {",
            "see docs/errors.md",
            "a story about failure and exceptions",
            "Process exited with code 0",
            "http2 failed over to http1",
            "12 passed in 0.3s",
        ];
        for text in fine {
            assert_eq!(tail(text), "", "{text}");
        }
    }

    #[test]
    fn a_failure_without_error_line_keeps_the_last_lines() {
        let text = format!("{}\nsome\nwords", "x".repeat(5_000));
        assert_eq!(error_tail(&text, Outcome::Unknown), Chars::ZERO);
        assert_eq!(error_tail(&text, Outcome::Failed), Chars::of("some\nwords"));
        let coded = format!("Exit code 1\n{text}");
        assert_eq!(error_tail(&coded, Outcome::Unknown), Chars::of("some\nwords"));
        let one_line = "x".repeat(5_000);
        assert_eq!(error_tail(&one_line, Outcome::Failed), Chars(FLAGGED_TAIL));
    }

    #[test]
    fn an_error_far_up_is_not_at_the_end() {
        let text = format!("error: early\n{}", "line of later output\n".repeat(60));
        assert_eq!(tail(&text), "");
        let long = format!("error: {}", "x".repeat(10_000_000));
        assert_eq!(error_tail(&long, Outcome::Unknown), Chars::ZERO);
    }
}
