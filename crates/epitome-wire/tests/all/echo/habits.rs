//! One case for each habit that a client was found to have.

use epitome_wire::Dialect::{self, Anthropic, Chat, Responses};
use serde_json::{Value, json};

use super::find;

/// A habit: who has it, what came back of the usual reply, and which message of it repeats which of the reply.
type Habit = (&'static str, Value, Vec<Option<usize>>);

fn check(dialect: Dialect, reply: &Value, habits: Vec<Habit>) {
    for (habit, sent, of) in habits {
        let (reply, sent) = (reply.as_array().unwrap(), sent.as_array().unwrap());
        let echo = find(dialect, reply, sent).unwrap_or_else(|| panic!("{dialect} {habit}"));
        assert_eq!((echo.of, echo.length), (of, sent.len()), "{dialect} {habit}");
    }
}

fn one(content: Value) -> Value {
    json!([{"role": "assistant", "content": content}])
}

#[test]
fn of_anthropic() {
    let (thinking, call) = (
        json!({"type": "thinking", "thinking": "hm", "signature": "s"}),
        json!({"type": "tool_use", "id": "t:1", "name": "look", "input": {"b": 1.0, "a": "é", "n": 12345678901234567890_u64}}),
    );
    let said = json!({"type": "text", "text": "Let me look.\n", "citations": null});
    let more = json!({"type": "text", "text": "Twice."});
    let redacted = json!({"type": "redacted_thinking", "data": "xx"});
    let server = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    let empty = json!({"type": "text", "text": ""});
    let reply = one(json!([thinking, redacted, said, server, found, more, empty, call]));
    let text = |text: &str| json!({"type": "text", "text": text});
    check(
        Anthropic,
        &reply,
        vec![
            ("SDKs: the blocks as they came", reply.clone(), vec![Some(0)]),
            (
                "SDKs: model_dump, with nulls and without what is empty",
                one(
                    json!([thinking, redacted, said, server, found, {"citations": null, "text": "Twice.", "type": "text"},
                    {"id": "t:1", "caller": null, "input": {"a": "é", "n": 12345678901234567890_u64, "b": 1.0}, "name": "look", "type": "tool_use", "toolset_name": null}]),
                ),
                vec![Some(0)],
            ),
            (
                "pi: no server tools, no blank text, ids in another provider's form, numbers of JavaScript",
                one(json!([thinking, text("Let me look.\n"), text("Twice."),
                    {"type": "tool_use", "id": "t_1", "name": "look", "input": {"b": 1, "a": "é", "n": 12345678901234567000_u64}}])),
                vec![Some(0)],
            ),
            (
                "LangChain: text and calls, the text as one",
                one(json!([text("Let me look.\nTwice."), call])),
                vec![Some(0)],
            ),
            (
                "AI SDK: the last text trimmed, redacted thinking kept, other thinking dropped",
                one(json!([redacted, text("Let me look."), server, text("Twice."), call])),
                vec![Some(0)],
            ),
            (
                "calls in a message of their own",
                json!([{"role": "assistant", "content": "Let me look.\n\nTwice."}, {"role": "assistant", "content": [call]}]),
                vec![Some(0)],
            ),
            (
                "Claude Code: arguments that were left out put in",
                one(json!([thinking, redacted, said, more,
                    {"type": "tool_use", "id": "t:1", "name": "look", "input": {"all": false, "b": 1, "a": "é", "n": 12345678901234567890_u64, "filter": null}}])),
                vec![Some(0)],
            ),
            (
                "breakpoints",
                one(
                    json!([text("Let me look.\n"), {"type": "text", "text": "Twice.", "cache_control": {"type": "ephemeral"}}, call]),
                ),
                vec![Some(0)],
            ),
        ],
    );
    check(
        Anthropic,
        &one(json!([thinking, text("Done. ")])),
        vec![
            ("a bare string, right-trimmed", one(json!("Done.")), vec![Some(0)]),
            ("blocks that were split", one(json!([text("Do"), text("ne.")])), vec![Some(0)]),
        ],
    );
}

#[test]
fn of_chat() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}});
    let calls = json!([call("c1", "{\"b\":1.0, \"a\":\"é\"}"), call("c2", "")]);
    let again = json!([call("c1", "{\"a\": \"\\u00e9\", \"b\": 1}"), call("c2", "{}")]);
    let reply = json!([{"role": "assistant", "content": null, "refusal": null, "annotations": [], "reasoning_content": "hm", "tool_calls": calls}]);
    check(
        Chat,
        &reply,
        vec![
            ("SDKs: as it came", reply.clone(), vec![Some(0)]),
            (
                "SDKs: model_dump, with nulls",
                json!([{"content": null, "refusal": null, "role": "assistant", "annotations": null, "audio": null, "function_call": null, "tool_calls": calls}]),
                vec![Some(0)],
            ),
            (
                "AI SDK: empty text, arguments anew",
                json!([{"role": "assistant", "content": "", "tool_calls": again}]),
                vec![Some(0)],
            ),
            (
                "LangChain: null, arguments anew",
                json!([{"content": null, "role": "assistant", "tool_calls": again}]),
                vec![Some(0)],
            ),
            ("no content at all", json!([{"role": "assistant", "tool_calls": again}]), vec![Some(0)]),
            (
                "a message for each call, with its result between them",
                json!([{"role": "assistant", "tool_calls": [again[0]]}, {"role": "tool", "tool_call_id": "c1", "content": "x"},
                    {"role": "assistant", "tool_calls": [again[1]]}]),
                vec![Some(0)],
            ),
        ],
    );
    let reply = json!([{"role": "assistant", "content": "<think>\nhm\n</think>\n\nGood day.\nAnd night."}]);
    check(
        Chat,
        &reply,
        vec![
            ("aider: without the thought", one(json!("Good day.\nAnd night.")), vec![Some(0)]),
            (
                "pi: parts",
                one(json!([{"type": "text", "text": "<think>\nhm\n</think>\n\nGood day.\nAnd night."}])),
                vec![Some(0)],
            ),
        ],
    );
    let reply = json!([{"role": "assistant", "content": "Good day.", "reasoning_content": "hm"}]);
    check(
        Chat,
        &reply,
        vec![
            (
                "Pydantic AI: the thought between marks",
                one(json!("<think>\nhm\n</think>\n\nGood day.")),
                vec![Some(0)],
            ),
            (
                "pi: the thought as a part before the text",
                one(
                    json!([{"type": "text", "text": "<thinking>\nhm\n</thinking>"}, {"type": "text", "text": "Good day."}]),
                ),
                vec![Some(0)],
            ),
        ],
    );
    let refusal = json!([{"role": "assistant", "content": null, "refusal": "No."}]);
    check(
        Chat,
        &refusal,
        vec![
            ("SDKs: a refusal", refusal.clone(), vec![Some(0)]),
            ("AI SDK, LangChain: a refusal is nothing", one(json!("")), vec![Some(0)]),
            ("nothing is sent", json!([]), vec![None]),
        ],
    );
    let broken = json!([{"role": "assistant", "tool_calls": [call("c", "{oops")]}]);
    check(
        Chat,
        &broken,
        vec![
            ("LangChain: bad arguments as they were", broken.clone(), vec![Some(0)]),
            (
                "AI SDK: bad arguments as a string of JSON",
                json!([{"role": "assistant", "tool_calls": [call("c", "\"{oops\"")]}]),
                vec![Some(0)],
            ),
        ],
    );
}

#[test]
fn of_responses() {
    let reasoning =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": [], "encrypted_content": "E"});
    let message = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Let me look.", "annotations": [], "logprobs": []}]});
    let call = |id: &str, arguments: &str| json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "look", "arguments": arguments, "status": "completed"});
    let bare = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "look", "arguments": arguments});
    let said = json!({"role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]});
    let items = [reasoning.clone(), message, call("c1", "{\"a\":1.0}"), call("c2", "{}")];
    let reply = Value::from(items.to_vec());
    let all = vec![Some(0), Some(1), Some(2), Some(3)];
    let plain = json!({"type": "reasoning", "summary": [], "encrypted_content": "E"});
    let reference = |id: &str| json!({"type": "item_reference", "id": id});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "x"});
    check(
        Responses,
        &reply,
        vec![
            ("SDKs: the output as it came", reply.clone(), all.clone()),
            (
                "Codex: no ids, no status",
                json!([plain, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]},
                    bare("c1", "{\"a\":1.0}"), bare("c2", "{}")]),
                all.clone(),
            ),
            (
                "pi: reasoning without a summary dropped, ids made up, arguments anew",
                json!([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}], "status": "completed", "id": "msg_4"},
                    bare("c1", "{\"a\":1}"), bare("c2", "{}")]),
                vec![None, Some(0), Some(1), Some(2)],
            ),
            (
                "AI SDK with store: items are named",
                json!([reference("rs_1"), reference("msg_1"), bare("c1", "{\"a\":1}"), bare("c2", "{}")]),
                all.clone(),
            ),
            (
                "AI SDK without: no type",
                json!([plain, said, bare("c1", "{\"a\":1}"), bare("c2", "{}")]),
                all.clone(),
            ),
            (
                "LangChain: text as a string",
                json!([{"role": "assistant", "content": "Let me look."}, bare("c1", "{\"a\": 1.0}"), bare("c2", "{}")]),
                vec![None, Some(0), Some(1), Some(2)],
            ),
            (
                "results between the calls",
                json!([plain, said, bare("c1", "{\"a\":1}"), output("c1"), bare("c2", "{}")]),
                vec![Some(0), Some(1), Some(2), Some(4)],
            ),
        ],
    );
    let silent = json!([{"type": "message", "role": "assistant", "content": []}, call("c1", "{}")]);
    let empty = json!([{"role": "assistant", "content": ""}, bare("c1", "{}")]);
    check(
        Responses,
        &silent,
        vec![
            ("SDKs: a message that says nothing", silent.clone(), vec![Some(0), Some(1)]),
            ("LangChain: an empty text", empty.clone(), vec![Some(0), Some(1)]),
            ("without it", json!([bare("c1", "{}")]), vec![None, Some(0)]),
        ],
    );
    let call = json!([call("c1", "{}")]);
    check(Responses, &call, vec![("LangChain: an empty text before a call", empty, vec![Some(1)])]);
    let refusal =
        json!([{"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}]);
    let text = json!([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "No."}]}]);
    check(Responses, &refusal, vec![("pi: a refusal as text", text, vec![Some(0)])]);
}

#[test]
fn what_stands_between_is_told_and_what_follows_is_not_counted() {
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "x"});
    let reply = [call("c1"), call("c2")];
    let echo = find(Responses, &reply, &[call("c1"), output("c1"), call("c2"), output("c2")]).unwrap();
    assert_eq!((echo.length, echo.apart), (3, vec![1]));
    let echo = find(Responses, &reply, &[call("c1"), call("c2"), output("c1"), output("c2")]).unwrap();
    assert_eq!((echo.length, echo.apart), (2, vec![]));
}

#[test]
fn of_what_the_providers_own_tools_gave() {
    let said = json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Two files."}]});
    let call = json!({"type": "shell_call", "id": "s", "call_id": "c", "action": {"commands": ["ls"]}, "status": "completed"});
    let given = json!({"type": "shell_call_output", "id": "o", "call_id": "c", "output": [{"stdout": "a b"}], "status": "completed"});
    let program = json!({"type": "program", "id": "p", "call_id": "d", "code": "1", "fingerprint": "f"});
    let result =
        json!({"type": "program_output", "id": "q", "call_id": "d", "result": "1", "status": "completed"});
    let bare = json!({"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "a b"}]});
    let reply = json!([call, given, program, result, said]);
    check(
        Responses,
        &reply,
        vec![
            ("SDKs: the items as they came", reply.clone(), (0..5).map(Some).collect()),
            ("without ids", json!([call, bare, program, result, said]), (0..5).map(Some).collect()),
            ("only what the model said", json!([call, said]), vec![Some(0), None, None, None, Some(1)]),
        ],
    );
    // What comes behind it is the reply's own, too, and what another call gave is not.
    let last = json!([call, given]);
    check(Responses, &last, vec![("as it came", last.clone(), vec![Some(0), Some(1)])]);
    let mine = json!({"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "a b"}]});
    let echo = find(Responses, std::slice::from_ref(&call), &[call.clone(), mine]).unwrap();
    assert_eq!((echo.length, echo.apart), (1, Vec::<usize>::new()));
}
