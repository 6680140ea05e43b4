//! The names that secrets are assigned to, however their words are joined.

use super::Text;

/// What a name says of the value that is assigned to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// A password: people think of them, so they may be short.
    Password,
    /// A name that passwords share with other things.
    Pass,
    /// A secret that people may have thought of.
    Phrase,
    /// A key or token: nobody thinks of them, but some are short.
    Secret,
    /// A name that other things have as well: what it names must look random.
    Token,
    /// A name that means something in the query of a URL only.
    Query,
    /// The header that says who asks.
    Authorization,
    /// Headers with cookies in them.
    Cookie,
}

use Names::{Authorization, Cookie, Pass, Password, Phrase, Query, Secret, Token};

/// Names by how they end. A space may be any joint between words, or none: `api key` is also `apiKey` and `API_KEY`.
const NAMES: &[(&str, Names)] = &[
    ("password", Password),
    ("passwd", Password),
    ("passphrase", Password),
    ("passcode", Password),
    ("passwort", Password),
    ("kennwort", Password),
    ("mot de passe", Password),
    ("senha", Password),
    ("contraseña", Password),
    ("contrasena", Password),
    ("wachtwoord", Password),
    ("пароль", Password),
    ("密码", Password),
    (" pwd", Password),
    (" pass", Pass),
    ("secret", Phrase),
    ("secret key", Secret),
    ("secret key base", Secret),
    ("secret access key", Secret),
    ("api key", Secret),
    ("api token", Secret),
    ("app key", Secret),
    ("access key", Secret),
    ("access token", Secret),
    ("account key", Secret),
    ("auth key", Secret),
    ("auth token", Secret),
    ("bearer token", Secret),
    ("bot token", Secret),
    ("azure key", Secret),
    ("deploy key", Secret),
    ("encryption key", Secret),
    ("id token", Secret),
    ("license key", Secret),
    ("master key", Secret),
    ("oauth token", Secret),
    ("openai key", Secret),
    ("private key", Secret),
    ("refresh token", Secret),
    ("service key", Secret),
    ("session token", Secret),
    ("shared key", Secret),
    ("signing key", Secret),
    ("storage key", Secret),
    ("stripe key", Secret),
    ("subscription key", Secret),
    ("token", Token),
    (" auth", Token),
    (" jwt", Token),
    (" sig", Token),
    (" creds", Token),
    (" credential", Token),
    (" credentials", Token),
    ("sessionid", Token),
    ("sessid", Token),
    ("signature", Query),
    (" key", Query),
    ("authorization", Authorization),
    (" cookie", Cookie),
];

/// Tokens that are places in a list, or parts of a language.
const NO_SECRETS: &[&str] = &[
    "page token",
    "next token",
    "continuation token",
    "sync token",
    "cursor token",
    "resume token",
    "public key token",
];

/// What the name that ends before `end` says, and where the name's last words start.
pub(super) fn before(text: &Text<'_>, end: usize) -> Option<(Names, usize)> {
    // `password2` and `token_12` name the same as without the number.
    let number = text.slice(0..end).iter().rev().take(3).take_while(|byte| byte.is_ascii_digit()).count();
    let end = if number > 0 { before_joint(text, end - number) } else { end };
    let letters = end.checked_sub(3).and_then(|start| text.bytes.get(start..end)?.try_into().ok())?;
    if !may_end(letters) {
        return None;
    }
    let last = letters[2].to_ascii_lowercase();
    let known = NAMES.iter().filter(|(name, _)| name.as_bytes().last() == Some(&last));
    let found = known.filter_map(|(name, says)| Some((*says, ends_with(text, end, name)?)));
    let (says, start) = found.min_by_key(|(_, start)| *start)?;
    let harmless = says == Token && NO_SECRETS.iter().any(|name| ends_with(text, end, name).is_some());
    (!harmless && !is_in_path(text, start)).then_some((says, start))
}

// `AWS::IAM::AccessKey` is a type, and `arn:…:secret:name` a place.
fn is_in_path(text: &Text<'_>, start: usize) -> bool {
    let start = word_start(text, start);
    // In `//registry/:_authToken` the colon ends a place.
    text.before(start) == Some(b':') && text.before(start - 1) != Some(b'/')
}

/// Where the word begins that goes on at `at`.
pub(super) fn word_start(text: &Text<'_>, at: usize) -> usize {
    let word = text.slice(0..at).iter().rev().take(64);
    at - word.take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count()
}

/// Whether a name may end in these letters: most words are told by their last three.
pub(super) fn may_end(letters: [u8; 3]) -> bool {
    matches!(
        &letters.map(|letter| letter.to_ascii_lowercase()),
        b"ord"
            | b"ort"
            | b"sse"
            | b"nha"
            | b"ena"
            | b"\xc3\xb1a"
            | b"\xbb\xd1\x8c"
            | b"\xe7\xa0\x81"
            | b"swd"
            | b"pwd"
            | b"ase"
            | b"ode"
            | b"ass"
            | b"ret"
            | b"key"
            | b"ken"
            | b"uth"
            | b"jwt"
            | b"sig"
            | b"ure"
            | b"eds"
            | b"ial"
            | b"als"
            | b"nid"
            | b"sid"
            | b"ion"
            | b"kie"
    )
}

/// Whether all letters of the name are capitals, as in the environment.
pub(super) fn is_shouted(text: &Text<'_>, start: usize, end: usize) -> bool {
    text.slice(start..end).iter().all(|byte| !byte.is_ascii_lowercase())
}

// Where `name` starts if the text before `end` ends with it.
fn ends_with(text: &Text<'_>, end: usize, name: &str) -> Option<usize> {
    let mut at = end;
    for letter in name.bytes().rev() {
        if letter == b' ' {
            at = before_joint(text, at);
            continue;
        }
        let same = text.before(at).is_some_and(|byte| byte.eq_ignore_ascii_case(&letter));
        at = if same { at - 1 } else { return None };
    }
    // A space at the front asks for the start of a word.
    let whole = !name.starts_with(' ') || starts_word(text, end + 1 - name.len());
    whole.then_some(at)
}

fn before_joint(text: &Text<'_>, at: usize) -> usize {
    at - usize::from(matches!(text.before(at), Some(b'_' | b'-' | b' ' | b'.')))
}

fn starts_word(text: &Text<'_>, at: usize) -> bool {
    let (before, first) = (text.before(at), text.byte(at));
    let escaped = matches!(before, Some(b'n' | b'r' | b't')) && text.before(at - 1) == Some(b'\\');
    let hump = before.is_some_and(|byte| byte.is_ascii_lowercase())
        && first.is_some_and(|byte| byte.is_ascii_uppercase());
    escaped || hump || !before.is_some_and(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_may_end_as_it_does() {
        for (name, _) in NAMES {
            let letters = name.as_bytes()[name.len() - 3..].try_into().unwrap();
            assert!(may_end(letters), "{name}");
        }
    }
}
