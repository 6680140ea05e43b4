//! Features of OpenAI's Chat Completions: parts, tools and fields, as clients and compatible servers write them.

use super::case::{Case, Fate, case};

/// What users say, as JSON.
const USER: &[(&str, &str)] = &[
    ("part: one text", r#"[{"type":"text","text":"One."}]"#),
    ("part: two texts", r#"[{"type":"text","text":"One."},{"type":"text","text":"Two."}]"#),
    (
        "part: image by URL",
        r#"[{"type":"text","text":"What?"},{"type":"image_url","image_url":{"url":"https://e.com/a.png","detail":"low"}}]"#,
    ),
    (
        "part: image in the URL",
        r#"[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]"#,
    ),
    (
        "part: audio",
        r#"[{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},{"type":"text","text":"Hear."}]"#,
    ),
    ("part: file by id", r#"[{"type":"file","file":{"file_id":"file-1"}},{"type":"text","text":"Read."}]"#),
    (
        "part: file in the request",
        r#"[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}},{"type":"text","text":"Read."}]"#,
    ),
    (
        "part: video of other servers",
        r#"[{"type":"video_url","video_url":{"url":"https://e.com/v.mp4"}},{"type":"text","text":"Look."}]"#,
    ),
    ("part: unknown", r#"[{"type":"hologram","n":12345678901234567890},{"type":"text","text":"See?"}]"#),
    ("part: unknown members", r#"[{"type":"text","text":"One.","x_new":{"a":null},"cache_hint":1.0}]"#),
    ("part: members in another order", r#"[{"text":"One.","type":"text"}]"#),
    ("part: a member twice", r#"[{"type":"text","text":"first","text":"second"}]"#),
    ("part: spaces within", "[ {\t\"type\" : \"text\" ,\r\n \"text\" : \"One.\" } ]"),
];

/// What the assistant says: the members of the message behind the role.
const ASSISTANT: &[(&str, &str)] = &[
    ("reply: parts", r#""content":[{"type":"text","text":"Done."}]"#),
    ("reply: a refusal", r#""content":null,"refusal":"I cannot.""#),
    ("reply: a refusal as a part", r#""content":[{"type":"refusal","refusal":"I cannot."}]"#),
    ("reply: audio", r#""content":"Said.","audio":{"id":"audio_1"}"#),
    (
        "reply: annotations",
        r#""content":"See.","annotations":[{"type":"url_citation","url_citation":{"start_index":0,"end_index":3,"url":"https://e.com","title":"E"}}]"#,
    ),
    ("reply: reasoning of other servers", r#""content":"Done.","reasoning_content":"Let me see\u2026""#),
    (
        "reply: reasoning with details",
        r#""content":"Done.","reasoning":"Hm.","reasoning_details":[{"type":"reasoning.encrypted","data":"Ab+/=","index":0}]"#,
    ),
    ("reply: a name", r#""name":"helper","content":"Done.""#),
    (
        "reply: unknown members",
        r#""content":"Done.","x_new":{"n":1e400},"refusal":null,"function_call":null"#,
    ),
];

/// Tool calls and their results, as whole messages between a question and a last word.
const TOOLS: &[(&str, &[&str])] = &[
    (
        "tool: a result",
        &[
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_@","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls -la\"}"}}]}"#,
            r#"{"role":"tool","tool_call_id":"call_@","content":"a.txt\nb.txt"}"#,
        ],
    ),
    (
        "tool: a result in parts",
        &[
            r#"{"role":"assistant","content":"","tool_calls":[{"id":"call_@","type":"function","function":{"name":"read","arguments":"{}"}}]}"#,
            r#"{"role":"tool","tool_call_id":"call_@","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}"#,
        ],
    ),
    (
        "tool: no content beside the calls",
        &[
            r#"{"role":"assistant","tool_calls":[{"id":"call_@","type":"function","function":{"name":"read","arguments":"{}"}}]}"#,
            r#"{"role":"tool","name":"read","tool_call_id":"call_@","content":"x"}"#,
        ],
    ),
    (
        "tool: two at once",
        &[
            r#"{"role":"assistant","content":"Both.","tool_calls":[{"id":"call_@1","type":"function","function":{"name":"a","arguments":"{}"}},{"id":"call_@2","type":"function","function":{"name":"b","arguments":"{}"}}]}"#,
            r#"{"role":"tool","tool_call_id":"call_@1","content":"1"}"#,
            r#"{"role":"tool","tool_call_id":"call_@2","content":"2"}"#,
        ],
    ),
    (
        "tool: arguments that are no JSON",
        &[
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_@","type":"function","function":{"name":"a","arguments":"{\"cut\": [1, "}}]}"#,
            r#"{"role":"tool","tool_call_id":"call_@","content":"error"}"#,
        ],
    ),
    (
        "tool: arguments with large numbers and spaces",
        &[
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_@","type":"function","function":{"name":"a","arguments":" { \"n\" : 123456789012345678901234567890, \"n\": 1.0 } "}}]}"#,
            r#"{"role":"tool","tool_call_id":"call_@","content":"ok"}"#,
        ],
    ),
    (
        "tool: a custom one",
        &[
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_@","type":"custom","custom":{"name":"patch","input":"*** Begin Patch\n"}}]}"#,
            r#"{"role":"tool","tool_call_id":"call_@","content":"applied"}"#,
        ],
    ),
    (
        "tool: unknown members of a call",
        &[
            r#"{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_@","type":"function","function":{"arguments":"{}","name":"a"},"extra_content":{"google":{"thought_signature":"Ab+/="}}}]}"#,
            r#"{"content":"ok","tool_call_id":"call_@","role":"tool","x":[{}]}"#,
        ],
    ),
    (
        "tool: a function, as it once was",
        &[
            r#"{"role":"assistant","content":null,"function_call":{"name":"a","arguments":"{}"}}"#,
            r#"{"role":"function","name":"a","content":"ok"}"#,
        ],
    ),
];

/// Members beside the messages.
const MEMBERS: &[(&str, &str)] = &[
    (
        "tools: functions",
        r#""tools":[{"type":"function","function":{"name":"bash","description":"Run it.\n","parameters":{"type":"object","properties":{"n":{"type":"integer","maximum":18446744073709551616}},"additionalProperties":false},"strict":true}}],"tool_choice":{"type":"function","function":{"name":"bash"}},"parallel_tool_calls":false,"#,
    ),
    (
        "tools: custom with a grammar",
        r#""tools":[{"type":"custom","custom":{"name":"p","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: \"a\""}}}}],"tool_choice":"auto","#,
    ),
    (
        "tools: functions, as they once were",
        r#""functions":[{"name":"a","parameters":{}}],"function_call":"auto","#,
    ),
    (
        "member: usage in the stream",
        r#""stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false},"#,
    ),
    (
        "member: effort and verbosity",
        r#""reasoning_effort":"minimal","verbosity":"low","max_completion_tokens":2048,"#,
    ),
    (
        "member: form of the answer",
        r#""response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object","properties":{"a":{"const":1.0}}}}},"#,
    ),
    (
        "member: modalities and audio",
        r#""modalities":["text","audio"],"audio":{"voice":"alloy","format":"wav"},"#,
    ),
    ("member: prediction", r#""prediction":{"type":"content","content":[{"type":"text","text":"x"}]},"#),
    (
        "member: search of the web",
        r#""web_search_options":{"search_context_size":"low","user_location":{"type":"approximate","approximate":{"city":"Köln"}}},"#,
    ),
    (
        "member: biases and penalties",
        r#""logit_bias":{"50256":-100},"logprobs":true,"top_logprobs":5,"frequency_penalty":-0.50,"presence_penalty":2,"seed":-9223372036854775808,"n":1,"#,
    ),
    ("member: stops", r#""stop":["\n","🛑"],"user":"u\u00fc","safety_identifier":"s","#),
    (
        "member: cache and tier",
        r#""prompt_cache_key":"k","prompt_cache_retention":"24h","service_tier":"flex","store":false,"#,
    ),
    (
        "member: of other servers",
        r#""provider":{"order":["a"],"allow_fallbacks":false},"transforms":[],"chat_template_kwargs":{"enable_thinking":false},"num_ctx":8192,"keep_alive":-1,"#,
    ),
];

pub(crate) fn cases() -> Vec<Case> {
    let seen = r#"{"role":"assistant","content":"Seen."}"#;
    let asks = r#"{"role":"user","content":"Please."}"#;
    let user = USER.iter().map(|(name, content)| {
        case(name).says(&[&format!(r#"{{"role":"user","content":{content}}}"#), seen])
    });
    let assistant = ASSISTANT
        .iter()
        .map(|(name, members)| case(name).says(&[asks, &format!(r#"{{"role":"assistant",{members}}}"#)]));
    let tools = TOOLS.iter().map(|(name, messages)| case(name).says(&[&[asks], *messages, &[seen]].concat()));
    let usual = |case: Case| case.says(&[asks, seen]);
    let members = MEMBERS.iter().map(|(name, members)| usual(case(name).before(members)));
    let others = [
        usual(
            case("headers: organisation and project")
                .header("OpenAI-Organization", "org-1")
                .header("OpenAI-Project", "proj_1"),
        ),
        usual(case("beta: one").header("OpenAI-Beta", "assistants=v2")),
        usual(
            case("headers: of other servers")
                .header("HTTP-Referer", "https://e.com")
                .header("X-Title", "An agent"),
        ),
        case("message: a name").says(&[r#"{"role":"user","name":"anna","content":"Please."}"#, seen]),
        case("message: members in another order").says(&[r#"{"content":"Please.","role":"user"}"#, seen]),
        case("message: unknown members")
            .says(&[r#"{"role":"user","x_id":"m_1","content":"Please.","x_more":{"n":1.0}}"#, seen]),
        case("message: spaces within")
            .says(&["{ \"role\" : \"user\" ,\r\n\t\"content\" : \"Please.\" }", seen]),
        case("message: from the system in between").says(&[
            asks,
            seen,
            r#"{"role":"system","content":"Mind the time."}"#,
            asks,
            seen,
        ]),
        case("message: from the developer in between").says(&[
            asks,
            seen,
            r#"{"role":"developer","content":[{"type":"text","text":"Mind it."}]}"#,
            asks,
            seen,
        ]),
        case("message: content is a number")
            .says(&[r#"{"role":"user","content":7}"#, seen])
            .fate(Fate::Passed),
    ];
    user.chain(assistant).chain(tools).chain(members).chain(others).collect()
}
