//! How an endpoint is written, where it leads, and who gets a key.

use epitome_llm::{Client, Endpoint, EndpointError, Limits, Secret};
use epitome_wire::Dialect;
use proptest::prelude::*;

/// A text, its model, its address, and how it is shown.
const ENDPOINTS: &[(&str, Dialect, &str, &str, &str)] = &[
    (
        "anthropic:claude-haiku-4-5",
        Dialect::Anthropic,
        "claude-haiku-4-5",
        "https://api.anthropic.com/v1/messages",
        "anthropic:claude-haiku-4-5",
    ),
    (
        "openai:gpt-5-mini",
        Dialect::Chat,
        "gpt-5-mini",
        "https://api.openai.com/v1/chat/completions",
        "openai:gpt-5-mini",
    ),
    (
        "responses:gpt-5",
        Dialect::Responses,
        "gpt-5",
        "https://api.openai.com/v1/responses",
        "responses:gpt-5",
    ),
    (
        "openai:llama3.2:3b@http://127.0.0.1:11434/v1",
        Dialect::Chat,
        "llama3.2:3b",
        "http://127.0.0.1:11434/v1/chat/completions",
        "openai:llama3.2:3b@http://127.0.0.1:11434",
    ),
    (
        "openai:m@http://localhost:8080",
        Dialect::Chat,
        "m",
        "http://localhost:8080/v1/chat/completions",
        "openai:m@http://localhost:8080",
    ),
    (
        "openai:a/b@https://openrouter.ai/api/v1/",
        Dialect::Chat,
        "a/b",
        "https://openrouter.ai/api/v1/chat/completions",
        "openai:a/b@https://openrouter.ai",
    ),
    (
        "openai:m@https://x.example/deployments/d/chat/completions?api-version=1",
        Dialect::Chat,
        "m",
        "https://x.example/deployments/d/chat/completions?api-version=1",
        "openai:m@https://x.example",
    ),
    (
        "anthropic:claude@20250219@https://proxy.example/anthropic",
        Dialect::Anthropic,
        "claude@20250219",
        "https://proxy.example/anthropic/v1/messages",
        "anthropic:claude@20250219@https://proxy.example",
    ),
    (
        " Anthropic:m@http://[::1]:8484/v1 ",
        Dialect::Anthropic,
        "m",
        "http://[::1]:8484/v1/messages",
        "anthropic:m@http://[::1]:8484",
    ),
];

#[test]
fn endpoints_are_read() {
    for (text, dialect, model, address, shown) in ENDPOINTS {
        let endpoint: Endpoint = text.parse().unwrap();
        assert_eq!(endpoint.dialect(), *dialect, "{text}");
        assert_eq!((endpoint.model(), endpoint.address()), (*model, *address), "{text}");
        assert_eq!(endpoint.to_string(), *shown);
    }
}

#[test]
fn mistakes_are_explained() {
    let error = |text: &str| text.parse::<Endpoint>().unwrap_err();
    assert_eq!(error("claude-haiku").to_string(), "unknown API \"claude-haiku\"");
    assert_eq!(error("").to_string(), "unknown API \"\"");
    assert!(matches!(error("openai:"), EndpointError::Model(_)));
    assert!(matches!(error("openai"), EndpointError::Model(_)));
    assert!(matches!(error("openai:@http://127.0.0.1"), EndpointError::Model(_)));
    assert!(matches!(error("openai:m@http://"), EndpointError::Address(..)));
    assert!(matches!(error("openai:m@ftp://127.0.0.1/"), EndpointError::Address(..)));
    for without in
        ["openai:m@127.0.0.1:11434/v1", "openai:m@localhost", "anthropic:m@10.0.0.1", "openai:m@host/v1"]
    {
        assert!(error(without).to_string().contains("http:// or https:// is missing"), "{without}");
    }
    assert!(error("openai:m@ftp://127.0.0.1/").hint().contains("http://"));
    let login = error("openai:m@https://user:hunter2@host/v1");
    assert_eq!(login, EndpointError::Login);
    assert!(!format!("{login} {login:?}").contains("hunter2"));
}

#[test]
fn keys_of_the_environment_go_where_they_are_safe() {
    let key = |text: &str| {
        let endpoint: Endpoint = text.parse().unwrap();
        endpoint.key_of(|name| Some(format!(" key-of-{name}\n"))).is_some()
    };
    for text in [
        "anthropic:m",
        "openai:m@https://x.example/v1",
        "openai:m@http://127.0.0.1:1",
        "openai:m@http://[::1]:1",
    ] {
        assert!(key(text), "{text}");
    }
    assert!(!key("openai:m@http://192.168.0.7:8000/v1"));
    assert!(!key("openai:m@http://localhost.example/v1"));
    let endpoint: Endpoint = "anthropic:m".parse().unwrap();
    let given = endpoint.key_of(|name| (name == "ANTHROPIC_API_KEY").then(|| " k\n".to_owned()));
    assert_eq!(given, Secret::new("k"));
    assert_eq!(endpoint.key_of(|_| Some("  ".to_owned())), None);
}

#[test]
fn a_query_is_not_shown() {
    let endpoint: Endpoint = "openai:m@https://x.example/v1?key=hunter2".parse().unwrap();
    assert!(!format!("{endpoint} {endpoint:?}").contains("hunter2"));
    assert!(endpoint.address().contains("hunter2"), "but it is sent");
}

#[test]
fn providers_need_a_key_and_servers_of_ones_own_do_not() {
    let client = |text: &str, key| Client::new(text.parse().unwrap(), key, Limits::default());
    let error = client("openai:m", None).unwrap_err();
    assert_eq!(error.to_string(), "openai:m needs a key, and OPENAI_API_KEY is not set");
    assert!(client("openai:m@http://127.0.0.1:1", None).is_ok());
    let error = client("openai:m", Secret::new("two\nlines")).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("lines\""), "{error:?}");
    assert!(error.to_string().contains("characters"), "{error}");
}

proptest! {
    #[test]
    fn no_text_upsets_it(text in ".*", model in "[a-z@:/.]{0,12}", url in "(@https?://)?[a-z0-9:/@.\\[\\]?#%]{0,20}") {
        let _ = text.parse::<Endpoint>();
        for api in ["anthropic", "openai", "responses"] {
            if let Ok(endpoint) = format!("{api}:{model}{url}").parse::<Endpoint>() {
                prop_assert!(!endpoint.model().is_empty());
                prop_assert!(endpoint.address().starts_with("http"));
            }
        }
    }
}
