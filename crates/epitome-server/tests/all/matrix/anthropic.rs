//! Features of Anthropic's Messages: blocks, betas and fields, as clients write them.

use super::case::{Case, Fate, case};

/// What users say, as JSON.
const USER: &[(&str, &str)] = &[
    ("block: one text", r#"[{"type":"text","text":"One."}]"#),
    ("block: two texts", r#"[{"type":"text","text":"One."},{"type":"text","text":"Two."}]"#),
    (
        "block: image as base64",
        r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"text","text":"What is it?"}]"#,
    ),
    (
        "block: image by URL",
        r#"[{"type":"image","source":{"type":"url","url":"https://example.com/a.png?x=1\u0026y=2"}}]"#,
    ),
    (
        "block: image by file",
        r#"[{"type":"image","source":{"type":"file","file_id":"file_011CNha8iCJcU1wXNR6q4V8w"}}]"#,
    ),
    (
        "block: document as PDF",
        r#"[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjcK"},"title":"T"}]"#,
    ),
    (
        "block: document as text",
        r#"[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Grass is green."},"title":"T","context":"C","citations":{"enabled":true}}]"#,
    ),
    (
        "block: document of blocks",
        r#"[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"Part 1"},{"type":"text","text":"Part 2"}]}}]"#,
    ),
    (
        "block: document by URL",
        r#"[{"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}}]"#,
    ),
    (
        "block: search result",
        r#"[{"type":"search_result","source":"https://example.com","title":"T","content":[{"type":"text","text":"Found."}],"citations":{"enabled":true}}]"#,
    ),
    (
        "block: upload to a container",
        r#"[{"type":"container_upload","file_id":"file_1"},{"type":"text","text":"Read it."}]"#,
    ),
    (
        "block: unknown",
        r#"[{"type":"hologram","frames":[1.0,2e0],"n":12345678901234567890},{"type":"text","text":"See?"}]"#,
    ),
    ("block: unknown members", r#"[{"type":"text","text":"One.","x_new":{"a":null},"citations":null}]"#),
    ("block: members in another order", r#"[{"text":"One.","type":"text"}]"#),
    ("block: a member twice", r#"[{"type":"text","text":"first","text":"second"}]"#),
    ("block: a kind by escapes", r#"[{"\u0074ype":"te\u0078t","text":"One."}]"#),
    ("block: spaces within", "[ {\t\"type\" : \"text\" ,\r\n \"text\" : \"One.\" } ]"),
];

/// What the assistant says, as JSON.
const ASSISTANT: &[(&str, &str)] = &[
    (
        "reply: text with citations",
        r#"[{"type":"text","text":"Green.","citations":[{"type":"char_location","cited_text":"Grass is green.","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":15}]}]"#,
    ),
    (
        "reply: thinking",
        r#"[{"type":"thinking","thinking":"Let me see\u2026","signature":"EqQBCgIYAhIM+/=="},{"type":"text","text":"Done."}]"#,
    ),
    (
        "reply: thinking left out",
        r#"[{"type":"thinking","thinking":"","signature":"EqQBCgIYAhIM"},{"type":"text","text":"Done."}]"#,
    ),
    (
        "reply: redacted thinking",
        r#"[{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3p=="},{"type":"text","text":"Done."}]"#,
    ),
    (
        "reply: search of the web",
        r#"[{"type":"server_tool_use","id":"srvtoolu_@1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_@1","content":[{"type":"web_search_result","url":"https://e.com","title":"E","encrypted_content":"Ab+/=","page_age":null}]},{"type":"text","text":"Found."}]"#,
    ),
    (
        "reply: search that failed",
        r#"[{"type":"server_tool_use","id":"srvtoolu_@2","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_@2","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}},{"type":"text","text":"No."}]"#,
    ),
    (
        "reply: code that was run",
        r#"[{"type":"server_tool_use","id":"srvtoolu_@3","name":"bash_code_execution","input":{"command":"ls"}},{"type":"bash_code_execution_tool_result","tool_use_id":"srvtoolu_@3","content":{"type":"bash_code_execution_result","stdout":"a\n","stderr":"","return_code":0,"content":[]}},{"type":"text","text":"Ran."}]"#,
    ),
    (
        "reply: MCP by the provider",
        r#"[{"type":"mcp_tool_use","id":"mcptoolu_@1","name":"echo","server_name":"s","input":{}},{"type":"mcp_tool_result","tool_use_id":"mcptoolu_@1","is_error":false,"content":[{"type":"text","text":"ok"}]},{"type":"text","text":"Done."}]"#,
    ),
    (
        "reply: a compaction of the provider",
        r#"[{"type":"compaction","content":"Earlier @: the harbour was built."},{"type":"text","text":"Going on."}]"#,
    ),
    (
        "reply: a compaction that failed",
        r#"[{"type":"compaction","content":null,"encrypted_content":"Eq@+/="},{"type":"text","text":"Going on."}]"#,
    ),
    (
        "reply: a signed compaction of the provider",
        r#"[{"type":"compaction","content":"Earlier @: the harbour\u2026","signature":"EqQBCgIYAhIM@+/==","tool_changes":[]}]"#,
    ),
    (
        "reply: unknown block",
        r#"[{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}},{"type":"text","text":"Done."}]"#,
    ),
];

/// Tool calls and their results, as whole messages between a question and a last word.
const TOOLS: &[(&str, &str, &str)] = &[
    (
        "tool: result as text",
        r#"{"type":"tool_use","id":"toolu_@","name":"bash","input":{"command":"ls -la"}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_@","content":"a.txt\nb.txt"}"#,
    ),
    (
        "tool: result as blocks",
        r#"{"type":"tool_use","id":"toolu_@","name":"read","input":{"path":"a"}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_@","content":[{"type":"text","text":"one"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}"#,
    ),
    (
        "tool: result is an error",
        r#"{"type":"tool_use","id":"toolu_@","name":"bash","input":{}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_@","is_error":true,"content":"no such file"}"#,
    ),
    (
        "tool: result without content",
        r#"{"type":"tool_use","id":"toolu_@","name":"touch","input":{}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_@"}"#,
    ),
    (
        "tool: result with a document",
        r#"{"type":"tool_use","id":"toolu_@","name":"read","input":{}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_@","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"}},{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"x"}]}]}"#,
    ),
    (
        "tool: references to tools",
        r#"{"type":"tool_use","id":"toolu_@","name":"search_tools","input":{"q":"x"}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_@","content":[{"type":"tool_reference","tool_name":"get_weather"}]}"#,
    ),
    (
        "tool: called by code",
        r#"{"type":"tool_use","id":"toolu_@","name":"q","input":{"a":1},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_@","content":"1"}"#,
    ),
    (
        "tool: input with large numbers",
        r#"{"type":"tool_use","id":"toolu_@","name":"add","input":{"a":123456789012345678901234567890,"b":1.0,"c":-0,"d":1e400}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_@","content":"1.2345678901234568e29"}"#,
    ),
    (
        "tool: input with a member twice",
        r#"{"type":"tool_use","id":"toolu_@","name":"set","input":{"k":1,"k":2,"\u006b":3}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_@","content":"ok","content":"ok again"}"#,
    ),
    (
        "tool: result with a breakpoint",
        r#"{"type":"tool_use","id":"toolu_@","name":"ls","input":{}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_@","content":"x","x_new":[{}]},{"type":"text","text":"And go on."}"#,
    ),
    (
        "tool: two at once",
        r#"{"type":"text","text":"Both."},{"type":"tool_use","id":"toolu_@1","name":"a","input":{}},{"type":"tool_use","id":"toolu_@2","name":"b","input":{}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_@2","content":"2"},{"type":"tool_result","tool_use_id":"toolu_@1","content":"1"}"#,
    ),
    (
        "tool: thinking before the call",
        r#"{"type":"thinking","thinking":"I need it.","signature":"Eq+/="},{"type":"tool_use","id":"toolu_@","name":"a","input":{}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_@","content":"1"}"#,
    ),
];

/// Members beside the messages.
const MEMBERS: &[(&str, &str)] = &[
    ("system: text", r#""system":"You are \u201ckind\u201d.","#),
    (
        "system: blocks with breakpoints",
        r#""system":[{"type":"text","text":"One."},{"type":"text","text":"Two.","cache_control":{"type":"ephemeral","ttl":"1h"}}],"#,
    ),
    (
        "tools: of the client",
        r#""tools":[{"name":"bash","description":"Run it.\n","input_schema":{"type":"object","properties":{"n":{"type":"integer","maximum":18446744073709551616}},"required":[]},"cache_control":{"type":"ephemeral"},"strict":true,"defer_loading":false,"input_examples":[{"n":1.0}]}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true},"#,
    ),
    (
        "tools: of the provider",
        r#""tools":[{"type":"web_search_20250305","name":"web_search","max_uses":5},{"type":"computer_20250124","name":"computer","display_width_px":1024,"display_height_px":768},{"type":"bash_20250124","name":"bash"},{"type":"memory_20250818","name":"memory"},{"type":"mcp_toolset","mcp_server_name":"s"}],"#,
    ),
    ("member: thinking", r#""thinking":{"type":"enabled","budget_tokens":1024},"#),
    (
        "member: effort and form of the output",
        r#""output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object"}}},"#,
    ),
    ("member: stops", r#""stop_sequences":["\n\nHuman:","🛑","\u0000"],"top_k":40,"#),
    (
        "member: tier, place and speed",
        r#""service_tier":"standard_only","inference_geo":"us","speed":"fast","#,
    ),
    (
        "member: container and skills",
        r#""container":{"id":"c_1","skills":[{"type":"anthropic","skill_id":"pptx","version":"latest"}]},"#,
    ),
    (
        "member: MCP servers",
        r#""mcp_servers":[{"type":"url","url":"https://e.com/sse","name":"s","authorization_token":"t","tool_configuration":{"enabled":true}}],"#,
    ),
    (
        "member: edits by the provider",
        r#""context_management":{"edits":[{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":100000},"keep":{"type":"tool_uses","value":3}}]},"#,
    ),
];

const BETAS: &[(&str, &str)] = &[
    ("beta: one", "context-management-2025-06-27"),
    (
        "beta: a list",
        "fine-grained-tool-streaming-2025-05-14,interleaved-thinking-2025-05-14 , x-of-tomorrow-2027-01-01",
    ),
];

pub(crate) fn cases() -> Vec<Case> {
    let seen = r#"{"role":"assistant","content":"Seen."}"#;
    let asks = r#"{"role":"user","content":"Please."}"#;
    let user = USER.iter().map(|(name, content)| {
        case(name).says(&[&format!(r#"{{"role":"user","content":{content}}}"#), seen])
    });
    let assistant = ASSISTANT.iter().map(|(name, content)| {
        case(name).says(&[asks, &format!(r#"{{"role":"assistant","content":{content}}}"#)])
    });
    let tools = TOOLS.iter().map(|(name, call, result)| {
        let call = format!(r#"{{"role":"assistant","content":[{call}]}}"#);
        let result = format!(r#"{{"role":"user","content":[{result}]}}"#);
        case(name).says(&[asks, &call, &result, seen])
    });
    let usual = |case: Case| case.says(&[asks, seen]);
    let members = MEMBERS.iter().map(|(name, members)| usual(case(name).before(members)));
    let betas = BETAS.iter().map(|(name, beta)| {
        usual(case(name).header("anthropic-version", "2023-06-01").header("Anthropic-Beta", beta))
    });
    let others = [
        usual(
            case("beta: two lines")
                .header("anthropic-beta", "a-2025-01-01")
                .header("anthropic-beta", "b-2025-01-01"),
        ),
        usual(
            case("headers: a session of an agent")
                .header("x-claude-code-session-id", "s")
                .header("x-claude-code-agent-id", "a"),
        ),
        case("message: members in another order").says(&[r#"{"content":"Please.","role":"user"}"#, seen]),
        case("message: unknown members")
            .says(&[r#"{"role":"user","x_id":"m_1","content":"Please.","x_more":{"n":1.0}}"#, seen]),
        case("message: spaces within")
            .says(&["{ \"role\" : \"user\" ,\r\n\t\"content\" : \"Please.\" }", seen]),
        case("message: from the system in between").says(&[
            asks,
            seen,
            asks,
            r#"{"role":"system","content":"Mind the time."}"#,
            seen,
        ]),
        usual(
            case("state: a thread of the provider")
                .before(r#""thread":{"id":"thread_1"},"#)
                .fate(Fate::Observed),
        ),
        usual(
            case("state: compaction by the provider")
                .before(r#""context_management":{"edits":[{"type":"compact_20260112"}]},"#)
                .fate(Fate::Observed),
        ),
        usual(
            case("state: a summary is asked for")
                .before(r#""compaction":{"type":"summarize"},"#)
                .fate(Fate::Observed),
        ),
        case("message: content is a number")
            .says(&[r#"{"role":"user","content":7}"#, seen])
            .fate(Fate::Passed),
    ];
    user.chain(assistant).chain(tools).chain(members).chain(betas).chain(others).collect()
}
