//! What counts as a secret, and what does not, as cases.

use std::borrow::Cow;

use epitome_core::Tokens;
use epitome_core::compact::{Request, StrategyName};
use epitome_core::secrets::{find, masked};
use epitome_core::settings::Settings;

use crate::compaction::{Scribe, asked, chat, lines, run, seen};

/// Secrets stand between `⟦` and `⟧`. A `¦` is left out, so that no scanner takes the cases for real ones.
const SECRETS: &[(&str, &[&str])] = &[
    ("anthropic key", &["ANTHROPIC_API_KEY=⟦sk-¦ant-api03-Zk3x8Qw1rT5yU7iO9pA2sD4fG6hJ8kL0-mN3bV5cX7zQ1⟧"]),
    (
        "openai key",
        &[
            "key is ⟦sk-¦proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6⟧.",
            "openai.api_key = '⟦sk-¦abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL⟧'",
            "{\"args\":\"{\\\"cmd\\\":\\\"export X=⟦sk-¦svcacct-Qw3eR5tY7uI9oP1aS3dF5gH7jK9lZ1xC⟧\\\"}\"}",
        ],
    ),
    (
        "aws access key id",
        &[
            "aws_access_key_id = ⟦AKIA¦Q3EGNVYXJ7RB2K5M⟧",
            "line one\\n⟦ASIA¦Q3EGNVYXJ7RB2K5M⟧\\nline three",
            "https://bucket.s3.amazonaws.com/a?X-Amz-Credential=⟦AKIA¦IOSFODNN7EXAMPLE%2F20130524⟧",
        ],
    ),
    (
        "github token",
        &[
            "git clone https://⟦ghp¦_16C7e42F292c6912E7710c838347Ae178B4a⟧@github.com/a/b",
            "token: ⟦gho¦_16C7e42F292c6912E7710c838347Ae178B4a⟧",
            "\\tGH_TOKEN=⟦ghs¦_16C7e42F292c6912E7710c838347Ae178B4a⟧\\n",
            "q=%3D⟦ghp¦_16C7e42F292c6912E7710c838347Ae178B4a⟧",
            "⟦github¦_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789aBcDeFgHiJkLmNoPqRsTuVwXyZ0123⟧",
        ],
    ),
    ("gitlab token", &["curl -H 'PRIVATE-TOKEN: ⟦glpat¦-zY3xW8vU5tS2rQ9pO6nM⟧' https://gitlab.com"]),
    (
        "slack token",
        &[
            "⟦xoxb¦-263594206564-2343594206574-FGqddMF8t08v8N7Oq4i57vs1⟧",
            "a ⟦xoxp¦-1234567890-abc123DEF456ghi7⟧ b",
        ],
    ),
    (
        "webhook address",
        &["https://hooks.slack.com/services/⟦T0¦0000001/B00000002/aB3dE5fG7hI9jK1lM3nO5pQ7⟧"],
    ),
    (
        "stripe key",
        &["stripe.api_key = \"⟦sk¦_live_4eC39HqLyjWDarjtT1zdp7dc⟧\"", "⟦rk¦_live_4eC39HqLyjWDarjtT1zdp7dc⟧"],
    ),
    ("google key", &["maps?key=⟦AIza¦SyD3x8Qw1rT5yU7iO9pA2sD4fG6hJ8kL0mN⟧&v=3"]),
    ("google token", &["⟦ya29¦.a0AfH6SMBx3y7z9w1q5e8r2t4u6i0o-pAsDfGhJkL⟧"]),
    ("google client secret", &["\"client_secret\":\"⟦GOCSPX¦-aB3dE5fG7hI9jK1lM3nO5pQ7rS9t⟧\""]),
    ("npm token", &["//registry.npmjs.org/:_authToken=⟦npm¦_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5⟧"]),
    ("pypi token", &["password = ⟦pypi¦-AgEIcHlwaS5vcmcCJDNlNzE5ZjQ1LTk4YmEtNGM2Yi1iZjk3LWE5⟧"]),
    ("hugging face token", &["HfApi(token=\"⟦hf¦_aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH⟧\")"]),
    ("sendgrid key", &["⟦SG¦.aB3dE5fG7hI9jK1lM3nO5p.Q7rS9tU1vW3xY5zA7bC9dE1fG3hI5jK7lM9nO1pQ3r⟧"]),
    ("twilio key", &["TWILIO=⟦SK¦3f2a9c8b7e6d5f4a3b2c1d0e9f8a7b6c⟧"]),
    ("digitalocean token", &["⟦dop¦_v1_3f2a9c8b7e6d5f4a3b2c1d0e9f8a7b6c3f2a9c8b7e6d5f4a3b2c1d0e9f8a7b6c⟧"]),
    (
        "telegram token",
        &["https://api.telegram.org/bot⟦123456789:¦AAF3x8Qw1rT5yU7iO9pA2sD4fG6hJ8kL0mN⟧/getMe"],
    ),
    ("discord token", &["client.run('⟦MTk4NjIyNDgz¦NDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs⟧')"]),
    ("vault token", &["VAULT_TOKEN: ⟦hvs¦.CAESIJ3x8Qw1rT5yU7iO9pA2sD4fG6hJ8kL0mN⟧"]),
    ("groq key", &["⟦gsk¦_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5⟧"]),
    (
        "json web token",
        &[
            "jwt ⟦eyJhbGciOiJIUzI1NiJ9¦.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U⟧.",
            "truncated: ⟦eyJhbGciOiJIUzI1NiJ9¦.eyJzdWIiOiIxMjM0NTY3⟧ and more",
            "{\\\"t\\\":\\\"⟦eyJhbGciOiJIUzI1NiJ9¦.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N⟧\\\"}",
        ],
    ),
    (
        "private key",
        &[
            "⟦-----BEGIN ¦RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi\nZ1BjP5CE/Wm/Rr500P\n-----END RSA PRIVATE KEY-----⟧\n",
            "\"private_key\": \"⟦-----BEGIN ¦PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\nBKcwggSjAgEAAoIBAQ\\n-----END PRIVATE KEY-----⟧\\n\"",
            "⟦-----BEGIN ¦OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE⟧\n[truncated]",
            "⟦b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE\nAAAAMwAAAAtzc2gtZWQyNTUxOQ\n-----END ¦OPENSSH PRIVATE KEY-----⟧",
            "⟦-----BEGIN ¦RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: DES-EDE3-CBC,A1B2C3\n\nMIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQ\n-----END RSA PRIVATE KEY-----⟧",
            "     1\t⟦-----BEGIN ¦EC PRIVATE KEY-----\n     2\tMHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtL\n     3\t-----END EC PRIVATE KEY-----⟧",
        ],
    ),
    (
        "authorization",
        &[
            "Authorization: Basic ⟦dXNlcjpwYXNz⟧",
            "-H \"Authorization: Bearer ⟦3x8Qw1rT5yU7iO9pA2sD⟧\"",
            "{'Authorization': 'token ⟦3f2a9c8b7e6d5f4a3b2c1d0e⟧'}",
            "headers.set(\"Authorization\", \"Bearer ⟦3x8Qw1rT5yU7iO9pA2sD⟧\")",
            "proxy-authorization: basic ⟦QWxhZGRpbjpvcGVuIHNlc2FtZQ==⟧",
            "sent with Bearer ⟦3x8Qw1rT5yU7iO9pA2sD4fG6⟧",
        ],
    ),
    (
        "cookie",
        &[
            "Cookie: theme=dark; sessionid=⟦38afes7a8jd9s0ak2lq0⟧; lang=en",
            "Set-Cookie: sid=⟦s%3AaB3dE5fG7hI9jK1lM3nO⟧; Path=/; HttpOnly",
        ],
    ),
    (
        "password",
        &[
            "postgres://app:⟦S3cure-9x⟧@db.internal:5432/main",
            "redis://:⟦p4ssw0rdX⟧@cache:6379",
            "https://deploy:⟦letmein⟧@example.org/repo.git",
            "mongodb+srv://root:⟦a%40b!c⟧@cluster0.mongodb.net",
            "password = \"⟦hunter2⟧\"",
            "password: ⟦hunter2⟧",
            "DB_PASSWORD=⟦sunshine⟧",
            "export PGPASSWORD='⟦Winter!Is_Coming⟧'",
            "{\"user\": \"ann\", \"password\": \"⟦tr0ub4dor&3⟧\"}",
            "{\\\"password\\\": \\\"⟦tr0ub4dor&3⟧\\\", \\\"a\\\": 1}",
            "'password' => '⟦Pa55w0rd!x⟧',",
            "Server=db;User Id=sa;Password=⟦Str0ngPassw0rd9⟧;Encrypt=true",
            "mysqldump --password=⟦k7Hq2vLp⟧ main",
            "tool --password ⟦k7Hq2vLp⟧ --verbose",
            "[\"--password\", \"⟦k7Hq2vLp⟧\"]",
            "curl -u ann:⟦k7Hq2vLp⟧ https://example.com",
            "sshpass -p '⟦k7Hq2vLp⟧' ssh host",
            "my password is ⟦Blu3Monkey⟧, thanks",
            "<password>⟦k7Hq2vLp⟧</password>",
            "**Password:** ⟦k7Hq2vLp⟧",
            "Passwort: ⟦k7Hq2vLp⟧",
            "DB_KENNWORT=⟦k7Hq2vLp⟧",
            "mot de passe : ⟦k7Hq2vLp⟧",
            "senha = \"⟦k7Hq2vLp⟧\"",
            "password: str = \"⟦k7Hq2vLp⟧\"",
            "config[\"password\"] = '⟦k7Hq2vLp⟧'",
            "password := \"⟦k7Hq2vLp⟧\"",
            "password: ⟦k7&Hq2vLp⟧",
            "login?password=⟦k7Hq2vLp⟧&next=/",
            "smtp_pass: ⟦k7Hq2vLp⟧\\n",
            "пароль: password=\"⟦k7Hq2vLp⟧\" ✓",
        ],
    ),
    (
        "key",
        &[
            "aws_secret_access_key = ⟦wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY⟧",
            "API_KEY: \"⟦3f2a9c8b7e6d5f4a⟧\"",
            "apiKey: '⟦3x8Qw1rT5yU7iO9pA2sD⟧',",
            "X-Api-Key: ⟦3x8Qw1rT5yU7iO9pA2sD⟧",
            "\"client_secret\": \"⟦8Q~3x8Qw1rT5yU7iO9pA2sD4fG6hJ8kL0mN⟧\"",
            "DefaultEndpointsProtocol=https;AccountKey=⟦3x8Qw1rT5yU7iO9pA2sD4fG6hJ8kL0mN3x8Qw1rT5y==⟧;EndpointSuffix=x",
            "https://x.blob.core.windows.net/c?sv=2022-11-02&sig=⟦3x8Qw1rT5yU7iO9pA2sD4fG6hJ8kL0mN%3D⟧&se=2025",
            "export SECRET_TOKEN=⟦3x8Qw1rT5yU7iO9pA2sD⟧",
            "secret_key_base: ⟦3f2a9c8b7e6d5f4a3b2c1d0e9f8a7b6c⟧",
            "os.environ.setdefault(\"SECRET_KEY\", \"⟦3x8Qw1rT5yU7iO9p⟧\")",
            "{\"auth\": \"⟦dXNlcm5hbWU6cGFzc3dvcmQ5OTk=⟧\"}",
            "API key: ⟦dafa7817-e246-48f3-91a7-e87653d587b8⟧",
            "--api-key ⟦3x8Qw1rT5yU7iO9pA2sD⟧",
            "some_api_token_123 = \"⟦3x8Qw1rT5yU7iO9pA2sD⟧\"",
            "CLIENT_SECRET=⟦pa55-w0rdish⟧",
        ],
    ),
];

/// Texts in which nothing is a secret.
const NO_SECRETS: &[&str] = &[
    // What stands for a value that is filled in elsewhere.
    "ANTHROPIC_API_KEY=sk-ant-...",
    "OPENAI_API_KEY=sk-your-key-goes-here-12345",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "token: <your-token-1>",
    "token: ${GITHUB_TOKEN2}",
    "password=$DB_PASSWORD1",
    "password: {{ vault.password1 }}",
    "API_KEY=$(cat /run/secrets/key1)",
    "password: ********",
    "api_key: xxxxxxxxxxxxxxxxxxx1",
    "secret = \"%s1\"",
    "f\"password={user.password2}\"",
    "API_KEY=YOUR_API_KEY_123",
    "API_KEY=",
    "PASSWORD=\nUSER=ann2",
    "export TOKEN=\"[REDACTED 1]\"",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "\"Authorization\": \"Basic \" + encoded",
    "http://user:password@host:8080/",
    "http://user:pass@host:8080/",
    "https://user:${PASSWORD}@host/",
    // What tests and examples log in with: it protects nothing, and the reader needs it.
    "password='password'",
    "User.objects.create_user('joe', password='secret')",
    "{'password1': 'testpass123', 'password2': 'testpass123'}",
    "POSTGRES_PASSWORD=postgres",
    "ADMIN_PASSWORD=changeme",
    "password: admin123",
    "SECRET_KEY = 'test-secret-key'",
    // Code.
    "password: str",
    "password: Optional[str] = None",
    "const password: string = await prompt();",
    "password = getpass.getpass()",
    "token = get_token(2)",
    "token = tokens[12]",
    "self.password = password2",
    "api_key = os.environ[\"API_KEY_2\"]",
    "apiKey: process.env.API_KEY1,",
    "secret = settings.secret_v2",
    "if password == \"\":",
    "assert token.type == TokenType.Name1",
    "let token = Token::new(b\"x\");",
    "pub GetContextToken: SpGetContextTokenFn,",
    "pub const ERROR_WRONG_PASSWORD: u32 = 1323u32;",
    "const NTE_INCORRECT_PASSWORD: HRESULT = 0x80090033;",
    "\"AWS::IAM::AccessKey\": \"62d91b17309e76c8\"",
    "csrf_token = request.META.get('CSRF_COOKIE')",
    "parser.add_argument(\"--token\", \"-t\", help=\"the token\")",
    "usage: tool --password PASSWORD --token TOKEN",
    "if \"-----BEGIN PRIVATE KEY-----\" in text and text.endswith(\"-----END PRIVATE KEY-----\"):",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "-----BEGIN PUBLIC KEY-----\nMIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi\n-----END PUBLIC KEY-----",
    // Numbers, hashes, identifiers.
    "tokens: 1234, max_tokens=4096, total_token: 99",
    "input tokens: 81,204; cached: 12,000",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "session 550e8400-e29b-41d4-a716-446655440000",
    "\"ChangeToken\": \"abcd12f2-46da-4fdb-b8d5-fbd4c466928f\"",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "integrity sha512-3x8Qw1rT5yU7iO9pA2sD4fG6hJ8kL0mN3x8Qw1rT5yU7iO9pA2sD4fG6hJ8kL0mN==",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "public_key = \"9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit\"",
    "\"nextPageToken\": \"CAUQAA3x8Qw1rT5yU7iO9pA2\"",
    "primaryKey=3x8Qw1rT5yU7iO9pA2sD, cache_key: 3x8Qw1rT5yU7iO9pA2sD",
    "password_hash: 5f4dcc3b5aa765d61d8327deb882cf99",
    "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestDatabaseSecret-a1b2c3",
    "SSH_AUTH_SOCK=/tmp/ssh-3x8Qw1/agent.12, PWD=/home/ann2/src",
    "toolu_01A09q90qw90lq917835lq9 and call_abc123DEF456ghi789JKL012",
    // Words.
    "\"password\": \"密码至少6位abc\"",
    "the password is required, and the token is invalid",
    "I forgot my password. My order is #W1234567.",
    "risk-management-for-beginners-2024 and task-scheduler-version-2",
    "git@github.com:ann/repo.git https://example.com:8080/a@b",
    "mailto:ann@example.com, ssh://git@host:22/repo",
    "Cookie: theme=dark; lang=en-US",
    "bypass: value1x, compass: north1x, first_pass: 12",
    "the author: a1b2c3d4",
    "[secret: github token] and password=[secret: password]",
];

#[test]
fn secrets_are_found_whole_and_named() {
    assert_found(SECRETS);
    assert!(SECRETS.iter().map(|(_, cases)| cases.len()).sum::<usize>() >= 60);
}

/// That of each case exactly what is marked is found, and called by its label.
pub(crate) fn assert_found(secrets: &[(&str, &[&str])]) {
    let mut wrong = Vec::new();
    for (label, cases) in secrets {
        for case in *cases {
            let (text, spans) = marked(case);
            let found: Vec<_> =
                find(&text).into_iter().map(|found| (found.span, found.kind.to_string())).collect();
            let expected: Vec<_> = spans.into_iter().map(|span| (span, (*label).to_owned())).collect();
            if found != expected {
                wrong.push(format!("{text}\nfound {found:?}\nnot   {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_no_secret_is_left_alone() {
    assert_untouched(NO_SECRETS);
    assert!(NO_SECRETS.len() >= 60);
}

/// That nothing is found in any of the texts.
pub(crate) fn assert_untouched(texts: &[&str]) {
    let wrong: Vec<_> = texts.iter().filter(|text| !matches!(masked(text), Cow::Borrowed(_))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_secret_becomes_a_marker_and_the_rest_stays() {
    let (text, _) = marked(
        "clone https://x:⟦ghp¦_16C7e42F292c6912E7710c838347Ae178B4a⟧@github.com, password='⟦k7Hq2vLp⟧' ✓",
    );
    let expected = "clone https://x:[secret: github token]@github.com, password='[secret: password]' ✓";
    assert_eq!(masked(&text), expected);
    assert_eq!(masked(expected), expected);
}

#[test]
fn secrets_are_found_in_json() {
    assert_found_in_json(SECRETS);
}

/// That nothing of a secret is left when its text is a string of JSON.
pub(crate) fn assert_found_in_json(secrets: &[(&str, &[&str])]) {
    for (_, cases) in secrets {
        for case in *cases {
            let (text, spans) = marked(case);
            let json = serde_json::to_string(&serde_json::json!({ "text": text })).unwrap();
            let secrets = spans.into_iter().map(|span| text[span].to_owned());
            let lines = secrets.flat_map(|secret| secret.lines().map(str::to_owned).collect::<Vec<_>>());
            for line in lines.filter(|line| line.len() > 3) {
                assert!(!masked(&json).contains(&line), "{json}");
            }
        }
    }
}

#[test]
fn no_summary_holds_a_secret_unless_that_is_wanted() {
    let (summary, _) = marked("deployed with ⟦AKIA¦Q3EGNVYXJ7RB2K5M⟧, then password = '⟦k7Hq2vLp⟧'");
    let messages = chat(20, 100);
    let summarized = |settings: &Settings| {
        let request = Request { budget: Some(Tokens(800)), ..asked(settings) };
        let compaction = run(&messages, &request, &mut Scribe::new(&summary)).compaction.unwrap();
        lines(&seen(&compaction, &messages)).join("\n")
    };
    let mut settings = Settings::default();
    settings.compact.strategy = StrategyName::Rolling;
    let masked = "deployed with [secret: aws access key id], then password = '[secret: password]'";
    assert!(summarized(&settings).contains(masked), "{}", summarized(&settings));
    settings.compact.mask_secrets = false;
    assert!(summarized(&settings).contains(&summary));
}

fn marked(case: &str) -> (String, Vec<std::ops::Range<usize>>) {
    let (mut text, mut spans, mut start) = (String::new(), Vec::new(), 0);
    for letter in case.chars() {
        match letter {
            '¦' => {}
            '⟦' => start = text.len(),
            '⟧' => spans.push(start..text.len()),
            letter => text.push(letter),
        }
    }
    (text, spans)
}
