//! Addresses with a scheme, and those of repositories.

use super::Kind;
use super::bytes::{at, is_word, run};
use super::scan::{Chunk, Reading};

/// The address whose scheme, or whose user and host, the chunk before a colon is.
pub(super) fn read(bytes: &[u8], chunk: Chunk) -> Option<Reading> {
    let rest = bytes.get(chunk.end..)?;
    if rest.starts_with(b"://") {
        let scheme =
            (chunk.start..chunk.end).rev().take_while(|place| at(bytes, *place).is_ascii_alphanumeric());
        let start = scheme.last().filter(|start| at(bytes, *start).is_ascii_alphabetic())?;
        let end = end(bytes, chunk.end + 3);
        return (end > chunk.end + 3).then(|| Reading::new(Kind::Url, start, end));
    }
    // git@host:owner/name
    let name = bytes.get(chunk.start..chunk.end)?;
    let remote = name.contains(&b'@') && name.contains(&b'.') && is_word(at(bytes, chunk.end + 1));
    let end = end(bytes, chunk.end + 1);
    let slashed = remote && bytes.get(chunk.end..end).is_some_and(|path| path.contains(&b'/'));
    slashed.then(|| Reading::new(Kind::Url, chunk.start, end))
}

// Where an address ends: brackets that were not opened in it and punctuation at its end belong to the sentence.
fn end(bytes: &[u8], from: usize) -> usize {
    const LONGEST: usize = 2048;
    let mut open = 0_usize;
    let mut end = from;
    let bytes = bytes.get(..bytes.len().min(from + LONGEST)).unwrap_or_default();
    while let Some(byte) = bytes.get(end) {
        match byte {
            0..=b' ' | 0x7f.. => break,
            b'"' | b'\'' | b'<' | b'>' | b'`' | b'{' | b'}' | b'|' | b'\\' | b'^' | b']' | b'[' | b'*' => {
                break;
            }
            b'(' => open += 1,
            b')' if open == 0 => break,
            b')' => open -= 1,
            _ => {}
        }
        end += 1;
    }
    while end > from && matches!(at(bytes, end - 1), b'.' | b',' | b';' | b':' | b'!' | b'?' | b'(') {
        end -= 1;
    }
    end
}

/// Whether a name without a scheme is that of a host: it ends in a domain that everybody knows.
pub(super) fn is_host(name: &[u8]) -> bool {
    const DOMAINS: [&[u8]; 12] =
        [b"com", b"org", b"net", b"io", b"dev", b"edu", b"gov", b"ai", b"app", b"de", b"uk", b"fr"];
    let letters =
        run(name, 0, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')) == name.len();
    let domain = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    letters && domain.len() < name.len() && DOMAINS.contains(&domain)
}
