//! Just enough base64 to look at the head of an image: no allocation beyond it, no error but a short answer.

/// The first `limit` bytes that `data` encodes; fewer where it ends or stops being base64.
///
/// Both alphabets are read, and line breaks are skipped.
pub(super) fn head(data: &str, limit: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(limit);
    let mut bits = 0_u32;
    let mut held = 0;
    for letter in data.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let Some(value) = value(letter) else { break };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
            if bytes.len() == limit {
                break;
            }
        }
    }
    bytes
}

/// The number of bytes that base64 of this length encodes.
pub(super) fn decoded_len(data: &str) -> usize {
    data.trim_end_matches('=').len() / 4 * 3 + data.trim_end_matches('=').len() % 4 * 3 / 4
}

/// Whether this byte may stand in base64 of either alphabet.
pub(super) fn is_letter(byte: u8) -> bool {
    value(byte).is_some() || byte == b'='
}

fn value(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_the_head() {
        let cases: [(&str, usize, &[u8]); 6] = [
            ("aGVsbG8gd29ybGQ=", 64, b"hello world"),
            ("aGVs\nbG8gd29ybGQ=", 5, b"hello"),
            ("aGVsbG8", 64, b"hello"),
            ("-_-_", 64, &[0xfb, 0xff, 0xbf]),
            ("a%b", 64, b""),
            ("", 64, b""),
        ];
        for (data, limit, bytes) in cases {
            assert_eq!(head(data, limit), bytes, "{data:?}");
        }
        assert_eq!(decoded_len("aGVsbG8gd29ybGQ="), 11);
        assert_eq!(decoded_len("aGVsbG8"), 5);
    }
}
