//! Files and folders, told from the slashes of prose.

use super::bytes::{DIGIT, FOREIGN, LOWER, UPPER, at, before, class, is_word, lower};
use super::scan::{Chunk, Reading};
use super::{Kind, url};

/// The path, or the address without a scheme, that a chunk with a slash is.
pub(super) fn read(bytes: &[u8], chunk: Chunk) -> Option<Reading> {
    let chunk = chunk.trimmed(bytes);
    let name = bytes.get(chunk.start..chunk.end)?;
    // The rest of `1/2`, `</tag>`, `// comment`.
    let rest =
        name.starts_with(b"/") && (is_word(before(bytes, chunk.start)) || before(bytes, chunk.start) == b'<');
    if rest || name.starts_with(b"//") || letters(name) < 2 {
        return None;
    }
    let host = name.split(|byte| *byte == b'/').next().unwrap_or_default();
    if url::is_host(host) {
        return Some(Reading::new(Kind::Url, chunk.start, chunk.end));
    }
    let rooted = [&b"/"[..], b"./", b"../", b"~/", b"$", b"@"].iter().any(|root| name.starts_with(root));
    let path = rooted || chunk.quoted || telling(name) || is_folder(host);
    path.then(|| Reading::new(Kind::Path, chunk.start, chunk.end))
}

/// The path or file that begins with a digit: `01-intro/notes.md`, `0001_initial.py`.
pub(super) fn digit_first(bytes: &[u8], chunk: Chunk) -> Option<Reading> {
    let chunk = chunk.trimmed(bytes);
    let name = bytes.get(chunk.start..chunk.end)?;
    let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    is_file(last).then(|| Reading::new(Kind::Path, chunk.start, chunk.end))
}

/// `C:\Users\me`, where the chunk is the letter of the drive.
pub(super) fn windows(bytes: &[u8], chunk: Chunk) -> Option<Reading> {
    let drive = chunk.end - chunk.start == 1 && at(bytes, chunk.start).is_ascii_alphabetic();
    if !drive || at(bytes, chunk.end + 1) != b'\\' {
        return None;
    }
    // In JSON each backslash is written twice, and a single one begins an escape.
    let escaped = at(bytes, chunk.end + 2) == b'\\';
    let escape = matches!(at(bytes, chunk.end + 2), b'n' | b'r' | b't' | b'"')
        && !at(bytes, chunk.start).is_ascii_uppercase();
    if escape {
        return None;
    }
    let mut end = chunk.end + 1;
    while let Some(byte) = bytes.get(end) {
        let part = is_word(*byte) || matches!(byte, b'.' | b'-' | b'_' | b'~' | b'@' | b'#' | b'$');
        let step = match byte {
            b'\\' if !escaped => 1,
            b'\\' if at(bytes, end + 1) == b'\\' => 2,
            _ if part => 1,
            _ => break,
        };
        end += step;
    }
    while end > chunk.end + 2 && matches!(at(bytes, end - 1), b'.' | b'\\') {
        end -= 1;
    }
    (end > chunk.end + 2).then(|| Reading::new(Kind::Path, chunk.start, end))
}

fn letters(name: &[u8]) -> usize {
    name.iter().filter(|byte| class(**byte) & (LOWER | UPPER | FOREIGN) != 0).count()
}

// Whether a part of it is written as names of files are and words are not.
fn telling(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/').any(|part| {
        let inner = part.get(1..).unwrap_or_default();
        letters(part) > 0
            && (part.iter().any(|byte| class(*byte) & DIGIT != 0)
                || inner.iter().any(|byte| b"_.-".contains(byte)))
    })
}

#[rustfmt::skip]
fn is_folder(name: &[u8]) -> bool {
    matches!(
        name,
        b"src" | b"lib" | b"test" | b"tests" | b"doc" | b"docs" | b"app" | b"apps" | b"bin" | b"crates"
        | b"packages" | b"pkg" | b"cmd" | b"internal" | b"include" | b"config" | b"configs" | b"scripts"
        | b"tools" | b"examples" | b"benches" | b"assets" | b"public" | b"static" | b"templates"
        | b"components" | b"pages" | b"api" | b"server" | b"client" | b"modules" | b"vendor" | b"target"
        | b"build" | b"dist" | b"origin"
    )
}

/// Whether a name ends as files do.
pub(super) fn is_file(name: &[u8]) -> bool {
    let Some(dot) = name.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 0) else { return false };
    let ending = name.get(dot + 1..).unwrap_or_default();
    lower::<7>(ending).is_some_and(|letters| is_ending(letters.get(..ending.len()).unwrap_or_default()))
}

#[rustfmt::skip]
fn is_ending(letters: &[u8]) -> bool {
    matches!(
        letters,
        b"rs" | b"py" | b"pyi" | b"pyx" | b"ipynb" | b"js" | b"mjs" | b"cjs" | b"jsx" | b"ts" | b"tsx"
        | b"vue" | b"svelte" | b"java" | b"kt" | b"kts" | b"scala" | b"groovy" | b"gradle" | b"c" | b"h"
        | b"cc" | b"cpp" | b"cxx" | b"hpp" | b"hh" | b"cs" | b"fs" | b"go" | b"rb" | b"php" | b"pl" | b"pm"
        | b"swift" | b"m" | b"mm" | b"lua" | b"r" | b"jl" | b"ex" | b"exs" | b"erl" | b"hs" | b"ml"
        | b"clj" | b"dart" | b"zig" | b"nim" | b"sh" | b"bash" | b"zsh" | b"fish" | b"ps1" | b"bat"
        | b"sql" | b"html" | b"htm" | b"css" | b"scss" | b"less" | b"xml" | b"svg" | b"json" | b"jsonl"
        | b"json5" | b"yaml" | b"yml" | b"toml" | b"ini" | b"cfg" | b"conf" | b"env" | b"lock" | b"md"
        | b"mdx" | b"rst" | b"txt" | b"log" | b"csv" | b"tsv" | b"pdf" | b"png" | b"jpg" | b"jpeg" | b"gif"
        | b"webp" | b"ico" | b"zip" | b"tar" | b"gz" | b"xz" | b"whl" | b"jar" | b"proto" | b"graphql"
        | b"tf" | b"patch" | b"diff" | b"docx" | b"xlsx" | b"pptx" | b"db" | b"sqlite" | b"wasm" | b"so"
        | b"dll" | b"exe" | b"mp4" | b"bak"
    )
}
