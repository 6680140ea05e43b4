//! How many secrets are found of those that were planted: made at random, as issuers and password generators make them.

use epitome_core::secrets::masked;

/// A generator that is the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn letters(&mut self, alphabet: &str, length: usize) -> String {
        (0..length).map(|_| char::from(alphabet.as_bytes()[self.roll(alphabet.len())])).collect()
    }
}

const HEX: &str = "0123456789abcdef";
const PLAIN: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const JOINED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const TYPED: &str = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789!#%^*+?";

/// Prefix, alphabet, length.
const ISSUED: &[(&str, &str, usize)] = &[
    ("ghp_", PLAIN, 36),
    ("github_pat_", PLAIN, 82),
    ("glpat-", JOINED, 20),
    ("sk-ant-api03-", JOINED, 95),
    ("sk-proj-", JOINED, 120),
    ("sk-", PLAIN, 48),
    ("AKIA", CAPITALS, 16),
    ("AIza", JOINED, 35),
    ("xoxb-123456789012-1234567890123-", PLAIN, 24),
    ("sk_live_", PLAIN, 24),
    ("npm_", PLAIN, 36),
    ("hf_", PLAIN, 34),
    ("dop_v1_", HEX, 64),
    ("pypi-AgEIcHlwaS5vcmc", JOINED, 140),
];

/// Where a token may stand; `{}` stands for it.
const ANYWHERE: &[&str] =
    &["{}", "use {} here", "x={};", "\"{}\"", "\\n{}\\n", "https://t:{}@host/", "[{}]", "it is {}."];

/// What has no form of its own needs a name before it.
const NAMED: &[&str] = &[
    "API_KEY={}",
    "api_key: {}",
    "\"client_secret\": \"{}\"",
    "{\\\"token\\\":\\\"{}\\\"}",
    "access_token='{}'",
    "--api-key {} --verbose",
    "?token={}&page=2",
    "secretKey: \"{}\",",
    "os.environ[\"AUTH_TOKEN\"] = \"{}\"",
    "Authorization: Bearer {}",
];

const PASSWORDS: &[&str] = &[
    "password = \"{}\"",
    "\"password\": \"{}\"",
    "DB_PASSWORD={}",
    "postgres://app:{}@db/main",
    "--password '{}'",
    "my password is \"{}\"",
    "password: {}",
    "sshpass -p '{}' ssh host",
    "IDENTIFIED BY '{}';",
    "machine host login ann password {}",
    "{\\\"password\\\": \\\"{}\\\"}",
];

#[test]
fn issued_tokens_are_found_wherever_they_stand() {
    let mut dice = Dice(1);
    let token = |dice: &mut Dice| {
        let (prefix, alphabet, length) = ISSUED[dice.roll(ISSUED.len())];
        format!("{prefix}{}", dice.letters(alphabet, length))
    };
    assert!(recall(&mut dice, ANYWHERE, token) >= 0.995);
}

#[test]
fn random_values_are_found_behind_a_name() {
    let mut dice = Dice(2);
    let value = |dice: &mut Dice| {
        let (alphabet, least) = [(HEX, 32), (PLAIN, 20), (JOINED, 24)][dice.roll(3)];
        let length = least + 4 * dice.roll(8);
        dice.letters(alphabet, length)
    };
    assert!(recall(&mut dice, NAMED, value) >= 0.99);
}

#[test]
fn passwords_are_found_where_passwords_stand() {
    let mut dice = Dice(3);
    let password = |dice: &mut Dice| {
        let length = 8 + dice.roll(12);
        dice.letters(TYPED, length)
    };
    assert!(recall(&mut dice, PASSWORDS, password) >= 0.95);
}

fn recall(dice: &mut Dice, places: &[&str], secret: impl Fn(&mut Dice) -> String) -> f64 {
    const PLANTED: usize = 5_000;
    let mut missed = std::collections::BTreeMap::<&str, Vec<String>>::new();
    for _ in 0..PLANTED {
        let place = places[dice.roll(places.len())];
        let secret = secret(dice);
        // Nothing of it may stay, but for what a place cuts off.
        if masked(&place.replace("{}", &secret)).contains(&secret[secret.len() / 2..]) {
            missed.entry(place).or_default().push(secret);
        }
    }
    let count = missed.values().map(Vec::len).sum::<usize>();
    for (place, secrets) in &missed {
        println!("{} missed in {place}: {:?}", secrets.len(), secrets.iter().take(5).collect::<Vec<_>>());
    }
    let recall = 1.0 - count as f64 / PLANTED as f64;
    println!("{recall:.4} of {PLANTED} found");
    recall
}
