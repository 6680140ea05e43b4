//! Whether a value looks like a secret, or like a word, a placeholder or code.

/// The words that examples and tests log in with, parted by spaces. What is made of them alone protects nothing.
const DULL: &str = "password passwd passphrase passcode passw0rd pass pwd secret token tokens key keys api access auth \
    oauth bearer private public client admin administrator root user username users test testing tester tests example \
    sample demo dummy fake mock foo bar baz qux quux change me default guest none null nil true false undefined string \
    str text value values val var arg param field name hello world abc abcd abcdef xyz login \
    logout my the your new old wrong right correct incorrect invalid valid bad good some any other this that here is \
    not real a an one two three four first second third last placeholder redacted hidden masked postgres postgresql \
    mysql redis mongo mongodb rabbitmq minio django flask rails app dev development prod production staging stage \
    local localhost db database master server service site web http https github gitlab google aws azure openai \
    anthropic env raw hash hashed encoded encrypted decrypted plain short long weak strong input output confirm \
    confirmation repeat current reset forgot forgotten required optional min max length id type data object int \
    bytes bool number code session cookie header basic digest credential credentials insert replace goes enter with \
    todo and or to for in of with from only super must contain contains characters least match matches cannot please \
    should will too missing failed empty unchanged unknown unset enabled disabled option options flag flags argument \
    parameter prompt instead stdin file encoding base64 sha1 sha256 sha512 md5 utf8 bcrypt scrypt argon pbkdf aes \
    salt salted passwort kennwort wachtwoord senha contrasena incorrecta obligatoire requerida falsch";

/// Words that say "put yours here".
const STAND_INS: &[&str] = &[
    "your",
    "example",
    "placeholder",
    "changeme",
    "redacted",
    "replace",
    "insert",
    "dummy",
    "environ",
    "env.",
];

/// What the bytes of a value are.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub(super) length: usize,
    pub(super) letters: usize,
    pub(super) digits: usize,
    /// Neither letter nor digit nor what joins words and encodes bytes.
    pub(super) symbols: usize,
    distinct: usize,
    /// How often capitals, small letters and digits take turns; a capital that opens a word does not count.
    turns: usize,
    /// How often a capital follows a capital.
    capital_pairs: usize,
    /// The longest run of letters and digits in which both occur.
    mixed_run: usize,
}

impl Shape {
    pub(super) fn of(value: &[u8]) -> Self {
        let mut shape = Self { length: value.len(), ..Self::default() };
        let mut seen = [false; 256];
        for byte in value {
            if let Some(seen) = seen.get_mut(usize::from(*byte)) {
                shape.distinct += usize::from(!std::mem::replace(seen, true));
            }
            match byte {
                byte if byte.is_ascii_alphabetic() => shape.letters += 1,
                byte if byte.is_ascii_digit() => shape.digits += 1,
                b'_' | b'-' | b'.' | b'/' | b'=' => {}
                _ => shape.symbols += 1,
            }
        }
        let capitals = |pair: &&[u8]| pair.iter().all(u8::is_ascii_uppercase);
        shape.capital_pairs = value.windows(2).filter(capitals).count();
        shape.turns = value.windows(2).filter(|pair| takes_turn(pair)).count();
        let runs = value.split(|byte| !byte.is_ascii_alphanumeric());
        shape.mixed_run = runs.filter(|run| is_mixed(run)).map(<[u8]>::len).max().unwrap_or(0);
        shape
    }

    /// Whether nobody would think of it: long, of many letters, and not of words.
    pub(super) fn is_random(&self) -> bool {
        // `GetSharedAccessKeyFn` takes turns as well, but its capitals stand alone.
        let no_words = self.digits > 0 || self.capital_pairs * 8 >= self.length;
        let mixed = self.takes_turns() || self.mixed_run >= 20;
        self.length >= 16 && self.distinct >= 8 && no_words && mixed
    }

    fn takes_turns(&self) -> bool {
        self.turns * 5 >= self.length
    }

    /// Whether what follows a known prefix is more than words or filling.
    pub(super) fn is_credible(&self) -> bool {
        self.distinct >= 6 && (self.is_random() || self.mixed_run >= 16 || self.takes_turns())
    }

    /// Whether it is no word: it has digits, or capitals where no word has them.
    pub(super) fn is_jumbled(&self) -> bool {
        self.digits > 0 || self.turns >= 2
    }

    /// Whether it is letters alone, and not two words joined by a capital, as names of types are.
    pub(super) fn is_one_word(&self) -> bool {
        self.letters == self.length && self.turns != 1
    }

    /// Whether it is more than one letter repeated, as in `xxxx-xxxx`.
    pub(super) fn is_varied(&self) -> bool {
        self.distinct >= 6
    }
}

fn takes_turn(pair: &[u8]) -> bool {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        _ => 0,
    };
    let &[left, right] = pair else { return false };
    !matches!((kind(left), kind(right)), (0, _) | (_, 0) | (1, 1) | (2, 2) | (3, 3) | (2, 1))
}

fn is_mixed(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_digit) && run.iter().any(u8::is_ascii_alphabetic)
}

/// Whether a value stands for one that is filled in elsewhere: `${TOKEN}`, `<your key>`, `***`, `%s`.
pub(super) fn is_template(value: &[u8]) -> bool {
    let holds = |part: &str| memchr::memmem::find(value, part.as_bytes()).is_some();
    let opens = |signs: &[u8]| value.first().is_some_and(|first| signs.contains(first));
    let variable = (opens(b"$@") || (opens(b"%") && value.ends_with(b"%")))
        && value.get(1).is_some_and(|next| next.is_ascii_alphabetic() || *next == b'_')
        && value.iter().skip(1).all(|byte| byte.is_ascii_alphanumeric() || b"_%.:>-[]'".contains(byte));
    let distinct = value.iter().skip(1).any(|byte| Some(byte) != value.first());
    let marks = ["${", "$(", "{{", "{%", "#{", "...", "…", "***", "•••", "%(", "->", "::"];
    !distinct
        || (opens(b"%") && value.len() <= 3)
        || variable
        || opens(b"<{[(")
        || value.iter().any(|byte| matches!(byte, b'<' | b'>'))
        || marks.into_iter().any(holds)
        || lower(value).windows(4).any(|four| four == b"xxxx")
}

/// Whether a sign that joins nothing stands between letters: `sun!shine`.
pub(super) fn is_pierced(value: &[u8]) -> bool {
    let pierces = |three: &[u8]| match three {
        &[left, sign, right] => {
            left.is_ascii_alphanumeric() && b"!@#$%^&~".contains(&sign) && right.is_ascii_alphanumeric()
        }
        _ => false,
    };
    value.windows(3).any(pierces) && !value.contains(&b'.')
}

/// Whether words are a password, as in `correct horse`: a few small ones, without what messages and labels say.
pub(super) fn is_passphrase(value: &[u8]) -> bool {
    let words = || value.split(|byte| *byte == b' ');
    let plain = |word: &[u8]| {
        word.len() >= 3 && word.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let telling =
        words().filter(|word| DULL.split_ascii_whitespace().any(|dull| dull.as_bytes() == *word)).count();
    let named = words().any(|word| word.starts_with(b"pass"));
    value.len() <= 64 && words().all(plain) && !named && telling * 2 <= words().count()
}

/// Whether a value is a number as programs write them: `0x80090033`, `4097u32`, `-12`.
pub(super) fn is_number(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let hex = digits.strip_prefix(b"0x").or(digits.strip_prefix(b"0X"));
    if let Some(hex) = hex {
        return hex.len() <= 16 && hex.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'_');
    }
    let sized = digits.iter().rposition(|byte| matches!(byte, b'i' | b'u' | b'f'));
    let plain = digits.get(..sized.unwrap_or(digits.len())).unwrap_or_default();
    let size = digits.get(plain.len()..).and_then(|size| size.get(1..)).unwrap_or_default();
    let all_digits =
        |part: &[u8]| part.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'.'));
    !plain.is_empty() && all_digits(plain) && all_digits(size)
}

/// Whether a value is an identifier that anybody may make up.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    let parts = value.split(|byte| *byte == b'-').map(<[u8]>::len);
    parts.eq([8, 4, 4, 4, 12]) && value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
}

/// Whether a value asks to be replaced, or is made of the words that examples are made of.
pub(super) fn is_dull(value: &[u8]) -> bool {
    // What is longer than any password is not made of a few words.
    if value.len() > 64 {
        return false;
    }
    let value = lower(value);
    STAND_INS.iter().any(|word| memchr::memmem::find(&value, word.as_bytes()).is_some())
        || only_dull_words(&value)
}

// Takes the longest dull word at each place. What is left over may be a letter or a short number.
fn only_dull_words(value: &[u8]) -> bool {
    let (mut letters, mut digits, mut at) = (0, 0, 0);
    let mut before = None;
    while let Some((first, rest)) = value.get(at..).and_then(<[u8]>::split_first) {
        let word =
            DULL.split_ascii_whitespace().filter(|word| starts_with_word(first, rest, word)).map(str::len);
        let counted_on =
            before.is_some_and(|before: u8| *first == before + 1 || (*first, before) == (b'0', b'9'));
        match word.max() {
            Some(length) => at += length,
            None => {
                digits += usize::from(first.is_ascii_digit() && !counted_on);
                letters += usize::from(first.is_ascii_alphabetic());
                at += 1;
            }
        }
        before = first.is_ascii_digit().then_some(*first);
    }
    letters <= 1 && digits <= 4
}

fn starts_with_word(first: &u8, rest: &[u8], word: &str) -> bool {
    word.as_bytes().split_first().is_some_and(|(head, tail)| head == first && rest.starts_with(tail))
}

fn lower(value: &[u8]) -> Vec<u8> {
    value.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_are_told_from_words() {
        let random = [
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzz",
            "9f86d081884c7d659a2feaa0c55ad015",
            "abcdefghijklmnop1234",
            "Zx9-Qw3e_R5tY7uI8o",
        ];
        let words =
            ["authentication_backend_v2", "correct-horse-battery-staple", "short1A", "12345678901234567890"];
        for value in random {
            assert!(Shape::of(value.as_bytes()).is_random(), "{value}");
        }
        for value in words {
            assert!(!Shape::of(value.as_bytes()).is_random(), "{value}");
        }
    }

    #[test]
    fn dull_values_are_told_from_passwords() {
        for value in
            ["password", "testpass123", "my-secret-key", "changeme!", "Admin123456789", "your_key_9f8a"]
        {
            assert!(is_dull(value.as_bytes()), "{value}");
        }
        for value in ["hunter2", "s3cr3t", "tr0ub4dor&3", "Sommer2024!", "test48151623"] {
            assert!(!is_dull(value.as_bytes()), "{value}");
        }
    }
}
