//! Features of OpenAI's Responses: items, parts, tools and fields, as clients write them.

use super::case::{Case, Fate, case};
use super::common::{assistant, user};
use epitome::Dialect;

/// What users say: the content of the item, as JSON.
const USER: &[(&str, &str)] = &[
    ("part: plain text", r#""One.""#),
    ("part: two texts", r#"[{"type":"input_text","text":"One."},{"type":"input_text","text":"Two."}]"#),
    (
        "part: image by URL",
        r#"[{"type":"input_image","image_url":"https://e.com/a.png","detail":"auto"},{"type":"input_text","text":"What?"}]"#,
    ),
    (
        "part: image in the URL",
        r#"[{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]"#,
    ),
    ("part: image by file", r#"[{"type":"input_image","file_id":"file-1","detail":"low"}]"#),
    (
        "part: file by id",
        r#"[{"type":"input_file","file_id":"file-1"},{"type":"input_text","text":"Read."}]"#,
    ),
    (
        "part: file in the request",
        r#"[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}]"#,
    ),
    ("part: file by URL", r#"[{"type":"input_file","file_url":"https://e.com/a.pdf"}]"#),
    ("part: audio", r#"[{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}]"#),
    (
        "part: unknown",
        r#"[{"type":"hologram","n":12345678901234567890},{"type":"input_text","text":"See?"}]"#,
    ),
    ("part: unknown members", r#"[{"type":"input_text","text":"One.","x_new":{"a":null}}]"#),
    ("part: members in another order", r#"[{"text":"One.","type":"input_text"}]"#),
    ("part: a member twice", r#"[{"type":"input_text","text":"first","text":"second"}]"#),
];

/// Items between a question and a last word.
const ITEMS: &[(&str, &[&str])] = &[
    (
        "item: a message of the model",
        &[
            r#"{"id":"msg_@","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Done.","annotations":[],"logprobs":[]}]}"#,
        ],
    ),
    (
        "item: a refusal",
        &[
            r#"{"id":"msg_@","type":"message","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"I cannot."}]}"#,
        ],
    ),
    (
        "item: annotations",
        &[
            r#"{"id":"msg_@","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"See.","annotations":[{"type":"url_citation","start_index":0,"end_index":3,"url":"https://e.com","title":"E"}]}]}"#,
        ],
    ),
    (
        "item: a phase",
        &[
            r#"{"id":"msg_@","type":"message","role":"assistant","phase":"commentary","status":"completed","content":[{"type":"output_text","text":"Looking.","annotations":[]}]}"#,
        ],
    ),
    (
        "item: a function",
        &[
            r#"{"id":"fc_@","type":"function_call","status":"completed","call_id":"call_@","name":"bash","arguments":"{\"command\":\"ls\"}"}"#,
            r#"{"type":"function_call_output","call_id":"call_@","output":"a.txt\nb.txt"}"#,
        ],
    ),
    (
        "item: a result in parts",
        &[
            r#"{"type":"function_call","call_id":"call_@","name":"see","arguments":"{}"}"#,
            r#"{"type":"function_call_output","call_id":"call_@","output":[{"type":"input_text","text":"one"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]}"#,
        ],
    ),
    (
        "item: two functions at once",
        &[
            r#"{"type":"function_call","call_id":"call_@1","name":"a","arguments":"{}"}"#,
            r#"{"type":"function_call","call_id":"call_@2","name":"b","arguments":"{}"}"#,
            r#"{"type":"function_call_output","call_id":"call_@1","output":"1"}"#,
            r#"{"type":"function_call_output","call_id":"call_@2","output":"2"}"#,
        ],
    ),
    (
        "item: arguments that are no JSON",
        &[
            r#"{"type":"function_call","call_id":"call_@","name":"a","arguments":"{\"cut\": [1, "}"#,
            r#"{"type":"function_call_output","call_id":"call_@","output":"error"}"#,
        ],
    ),
    (
        "item: arguments with large numbers and spaces",
        &[
            r#"{"type":"function_call","call_id":"call_@","name":"a","arguments":" { \"n\" : 123456789012345678901234567890, \"n\": 1.0 } "}"#,
            r#"{"type":"function_call_output","call_id":"call_@","output":"ok"}"#,
        ],
    ),
    (
        "item: a custom tool",
        &[
            r#"{"type":"custom_tool_call","id":"ctc_@","call_id":"call_@","name":"apply_patch","input":"*** Begin Patch\n"}"#,
            r#"{"type":"custom_tool_call_output","call_id":"call_@","output":"applied"}"#,
        ],
    ),
    (
        "item: reasoning before a call",
        &[
            r#"{"id":"rs_@","type":"reasoning","summary":[{"type":"summary_text","text":"Let me see\u2026"}],"encrypted_content":"gAAAA+/=="}"#,
            r#"{"type":"function_call","call_id":"call_@","name":"a","arguments":"{}"}"#,
            r#"{"type":"function_call_output","call_id":"call_@","output":"1"}"#,
        ],
    ),
    (
        "item: reasoning before a message",
        &[
            r#"{"type":"reasoning","summary":[],"encrypted_content":"gAAAA+/==","content":null}"#,
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}"#,
        ],
    ),
    (
        "item: a search of the web",
        &[
            r#"{"id":"ws_@","type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}}"#,
        ],
    ),
    (
        "item: a search of files",
        &[r#"{"id":"fs_@","type":"file_search_call","status":"completed","queries":["q"],"results":null}"#],
    ),
    (
        "item: code that was run",
        &[
            r#"{"id":"ci_@","type":"code_interpreter_call","status":"completed","container_id":"c_1","code":"1+1","outputs":[{"type":"logs","logs":"2"}]}"#,
        ],
    ),
    (
        "item: a picture that was made",
        &[r#"{"id":"ig_@","type":"image_generation_call","status":"completed","result":"iVBORw0KGgo="}"#],
    ),
    (
        "item: a computer",
        &[
            r#"{"type":"computer_call","id":"cu_@","call_id":"call_@","action":{"type":"click","button":"left","x":1,"y":2},"pending_safety_checks":[],"status":"completed"}"#,
            r#"{"type":"computer_call_output","call_id":"call_@","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,iVBORw0KGgo="}}"#,
        ],
    ),
    (
        "item: a shell of the client",
        &[
            r#"{"type":"local_shell_call","id":"ls_@","call_id":"call_@","action":{"type":"exec","command":["ls"],"env":{}},"status":"completed"}"#,
            r#"{"type":"local_shell_call_output","id":"call_@","output":"a"}"#,
        ],
    ),
    (
        "item: MCP by the provider",
        &[
            r#"{"id":"mcpl_@","type":"mcp_list_tools","server_label":"s","tools":[{"name":"t","input_schema":{"type":"object"}}]}"#,
            r#"{"id":"mcp_@","type":"mcp_call","server_label":"s","name":"t","arguments":"{}","output":"ok","error":null}"#,
        ],
    ),
    (
        "item: approval of MCP",
        &[
            r#"{"id":"mcpr_@","type":"mcp_approval_request","server_label":"s","name":"t","arguments":"{}"}"#,
            r#"{"type":"mcp_approval_response","approval_request_id":"mcpr_@","approve":true}"#,
        ],
    ),
    (
        "item: a compaction of the provider",
        &[r#"{"type":"compaction","id":"cmp_@","encrypted_content":"gAAAA@+/=="}"#],
    ),
    ("item: a trigger of a compaction", &[r#"{"type":"compaction_trigger"}"#]),
    (
        "item: a search for tools by the provider",
        &[
            r#"{"type":"tool_search_call","id":"tsc_@","call_id":null,"arguments":{"q":"x"},"execution":"server","status":"completed"}"#,
            r#"{"type":"tool_search_output","id":"tso_@","call_id":null,"execution":"server","status":"completed","tools":[{"type":"function","name":"w","parameters":{"n":1.0}}]}"#,
        ],
    ),
    (
        "item: a search for tools by the client",
        &[
            r#"{"type":"tool_search_call","id":"tsc_@","call_id":"call_@","arguments":{"q":"x"},"execution":"client","status":"completed"}"#,
            r#"{"type":"tool_search_output","call_id":"call_@","execution":"client","status":"completed","tools":[{"type":"function","name":"w","parameters":{"n":1.0}}]}"#,
        ],
    ),
    (
        "item: a shell",
        &[
            r#"{"type":"shell_call","id":"sh_@","call_id":"call_@","action":{"commands":["ls -la"],"timeout_ms":120000,"max_output_length":4096},"status":"completed"}"#,
            r#"{"type":"shell_call_output","call_id":"call_@","max_output_length":4096,"output":[{"stdout":"a.txt\n","stderr":"","outcome":{"type":"exit","exit_code":0}}]}"#,
        ],
    ),
    (
        "item: a patch",
        &[
            r#"{"type":"apply_patch_call","id":"apc_@","call_id":"call_@","operation":{"type":"update_file","path":"a","diff":"@@\n-a\n+b"},"status":"completed"}"#,
            r#"{"type":"apply_patch_call_output","call_id":"call_@","status":"completed","output":"Done"}"#,
        ],
    ),
    (
        "item: a patch without a word",
        &[
            r#"{"type":"apply_patch_call","id":"apc_@","call_id":"call_@","operation":{"type":"delete_file","path":"a"},"status":"completed"}"#,
            r#"{"type":"apply_patch_call_output","call_id":"call_@","status":"completed"}"#,
        ],
    ),
    (
        "item: a program of the provider",
        &[
            r#"{"type":"program","id":"pr_@","call_id":"call_@","code":"1 + 1","fingerprint":"f+/="}"#,
            r#"{"type":"program_output","id":"po_@","call_id":"call_@","result":"2","status":"completed"}"#,
        ],
    ),
    ("item: by reference", &[r#"{"type":"item_reference","id":"msg_@"}"#]),
    ("item: unknown", &[r#"{"type":"hologram","id":"h_@","n":12345678901234567890,"m":1e400}"#]),
    (
        "item: unknown members",
        &[r#"{"type":"message","role":"user","x_id":"m_@","content":"Please.","x_more":{"n":1.0}}"#],
    ),
    ("item: members in another order", &[r#"{"content":"Please.","role":"user","type":"message"}"#]),
    ("item: no type", &[r#"{"role":"user","content":"Please."}"#]),
    (
        "item: spaces within",
        &["{ \"type\" : \"message\" , \"role\" : \"user\" ,\r\n\t\"content\" : \"Please.\" }"],
    ),
    (
        "item: from the developer in between",
        &[r#"{"type":"message","role":"developer","content":"Mind the time."}"#],
    ),
    (
        "item: from the system in between",
        &[r#"{"role":"system","content":[{"type":"input_text","text":"Mind it."}]}"#],
    ),
];

/// Members beside the items.
const MEMBERS: &[(&str, &str)] = &[
    ("member: instructions", r#""instructions":"You are \u201ckind\u201d.","#),
    (
        "tools: functions",
        r#""tools":[{"type":"function","name":"bash","description":"Run it.\n","parameters":{"type":"object","properties":{"n":{"type":"integer","maximum":18446744073709551616}}},"strict":false}],"tool_choice":"auto","parallel_tool_calls":true,"max_tool_calls":9,"#,
    ),
    (
        "tools: of the provider",
        r#""tools":[{"type":"web_search","filters":{"allowed_domains":["e.com"]}},{"type":"file_search","vector_store_ids":["v"]},{"type":"code_interpreter","container":{"type":"auto"}},{"type":"image_generation","partial_images":1},{"type":"mcp","server_label":"s","server_url":"https://e.com","require_approval":"never"},{"type":"custom","name":"p","format":{"type":"grammar","syntax":"lark","definition":"start: \"a\""}}],"#,
    ),
    (
        "member: reasoning",
        r#""reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"],"store":false,"#,
    ),
    (
        "member: form of the text",
        r#""text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object","properties":{"a":{"const":1.0}}},"strict":true},"verbosity":"low"},"#,
    ),
    ("member: truncation", r#""truncation":"auto","max_output_tokens":4096,"#),
    (
        "member: cache and tier",
        r#""prompt_cache_key":"k","prompt_cache_retention":"24h","service_tier":"priority","safety_identifier":"s","#,
    ),
    (
        "member: a prompt of the provider",
        r#""prompt":{"id":"pmpt_1","version":"2","variables":{"city":"Köln"}},"#,
    ),
    (
        "member: options of the stream",
        r#""stream":true,"stream_options":{"include_obfuscation":false},"top_logprobs":3,"#,
    ),
    ("member: in the background", r#""background":false,"client_metadata":{"k":"v"},"#),
];

pub(crate) fn cases() -> Vec<Case> {
    let seen = &assistant(Dialect::Responses, r#""Seen.""#);
    let asks = &user(Dialect::Responses, r#""Please.""#);
    let users = USER.iter().map(|(name, content)| {
        case(name).says(&[&format!(r#"{{"type":"message","role":"user","content":{content}}}"#), seen])
    });
    let items = ITEMS
        .iter()
        .map(|(name, items)| case(name).says(&[&[asks.as_str()], *items, &[seen.as_str()]].concat()));
    let usual = |case: Case| case.says(&[asks, seen]);
    let members = MEMBERS.iter().map(|(name, members)| usual(case(name).before(members)));
    let others = [
        usual(
            case("headers: of an agent")
                .header("session_id", "0199-b")
                .header("originator", "codex_cli_rs")
                .header("conversation_id", "c"),
        ),
        usual(case("beta: one").header("OpenAI-Beta", "responses=experimental")),
        usual(
            case("headers: organisation and project")
                .header("OpenAI-Organization", "org-1")
                .header("OpenAI-Project", "proj_1"),
        ),
        usual(
            case("state: the response before")
                .before(r#""previous_response_id":"resp_0","#)
                .fate(Fate::Observed),
        ),
        usual(
            case("state: a conversation of the provider")
                .before(r#""conversation":{"id":"conv_1"},"#)
                .fate(Fate::Observed),
        ),
        usual(
            case("state: compaction by the provider")
                .before(r#""context_management":[{"type":"compaction","compact_threshold":200000}],"#)
                .fate(Fate::Observed),
        ),
    ];
    users.chain(items).chain(members).chain(others).collect()
}
