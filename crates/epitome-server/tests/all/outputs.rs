//! Replies of Responses that hold what the provider's own tools gave: recorded, and found again when their client sends them back.

use epitome::Dialect;
use serde_json::{Value, json};

use crate::house::{Agent, House, header};
use crate::support::run;
use crate::upstream::{Act, Upstream};

/// Everything that a response may put out, each kind with what it goes with.
fn outputs() -> Vec<(&'static str, Value)> {
    let tool =
        json!({"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": true});
    vec![
        ("message", json!([])),
        (
            "file_search_call",
            json!([{"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["q"], "results": null}]),
        ),
        (
            "function_call",
            json!([
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": "{}", "status": "completed"},
            {"type": "function_call_output", "id": "fco_1", "call_id": "call_1", "output": "fair", "status": "completed"}]),
        ),
        (
            "web_search_call",
            json!([{"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}]),
        ),
        (
            "computer_call",
            json!([
            {"type": "computer_call", "id": "cu_1", "call_id": "call_2", "status": "completed", "pending_safety_checks": [],
                "actions": [{"type": "screenshot"}]},
            {"type": "computer_call_output", "id": "cuo_1", "call_id": "call_2", "status": "completed",
                "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="}}]),
        ),
        (
            "reasoning",
            json!([{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}]),
        ),
        (
            "program",
            json!([
            {"type": "program", "id": "pr_1", "call_id": "call_3", "code": "1 + 1", "fingerprint": "f"},
            {"type": "program_output", "id": "pro_1", "call_id": "call_3", "result": "2", "status": "completed"}]),
        ),
        (
            "tool_search_call of the server",
            json!([
            {"type": "tool_search_call", "id": "ts_1", "call_id": null, "arguments": {"q": "x"}, "execution": "server", "status": "completed"},
            {"type": "tool_search_output", "id": "tso_1", "call_id": null, "execution": "server", "status": "completed", "tools": [tool]}]),
        ),
        (
            "tool_search_call of the client",
            json!([
            {"type": "tool_search_call", "id": "ts_2", "call_id": "call_4", "arguments": {"q": "x"}, "execution": "client", "status": "completed"},
            {"type": "tool_search_output", "id": "tso_2", "call_id": "call_4", "execution": "client", "status": "completed", "tools": [tool]}]),
        ),
        (
            "additional_tools",
            json!([{"type": "additional_tools", "id": "at_1", "role": "developer", "tools": [tool]}]),
        ),
        ("compaction", json!([{"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAcompacted"}])),
        (
            "image_generation_call",
            json!([{"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="}]),
        ),
        (
            "code_interpreter_call",
            json!([{"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "container_id": "c_1",
            "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]}]),
        ),
        (
            "local_shell_call",
            json!([
            {"type": "local_shell_call", "id": "ls_1", "call_id": "call_5", "status": "completed",
                "action": {"type": "exec", "command": ["ls"], "env": {}}},
            {"type": "local_shell_call_output", "id": "call_5", "output": "a", "status": "completed"}]),
        ),
        (
            "shell_call",
            json!([
            {"type": "shell_call", "id": "sh_1", "call_id": "call_6", "status": "completed", "action": {"commands": ["ls"]},
                "environment": {"type": "container_reference", "container_id": "c_1"}},
            {"type": "shell_call_output", "id": "sho_1", "call_id": "call_6", "status": "completed", "max_output_length": 1000,
                "output": [{"outcome": {"type": "exit", "exit_code": 0}, "stdout": "a", "stderr": ""}]}]),
        ),
        (
            "apply_patch_call",
            json!([
            {"type": "apply_patch_call", "id": "ap_1", "call_id": "call_7", "status": "completed",
                "operation": {"type": "create_file", "path": "a", "diff": "+a"}},
            {"type": "apply_patch_call_output", "id": "apo_1", "call_id": "call_7", "status": "completed", "output": "done"}]),
        ),
        (
            "apply_patch_call without a word",
            json!([
            {"type": "apply_patch_call", "id": "ap_2", "call_id": "call_8", "status": "completed",
                "operation": {"type": "delete_file", "path": "a"}},
            {"type": "apply_patch_call_output", "id": "apo_2", "call_id": "call_8", "status": "completed"}]),
        ),
        (
            "mcp_call",
            json!([
            {"type": "mcp_list_tools", "id": "ml_1", "server_label": "s", "tools": [{"name": "t", "input_schema": {"type": "object"}}]},
            {"type": "mcp_call", "id": "mc_1", "server_label": "s", "name": "t", "arguments": "{}", "output": "ok", "error": null}]),
        ),
        (
            "mcp_approval",
            json!([
            {"type": "mcp_approval_request", "id": "mr_1", "server_label": "s", "name": "t", "arguments": "{}"},
            {"type": "mcp_approval_response", "id": "mp_1", "approval_request_id": "mr_1", "approve": true}]),
        ),
        (
            "custom_tool_call",
            json!([
            {"type": "custom_tool_call", "id": "ct_1", "call_id": "call_9", "name": "p", "input": "x"},
            {"type": "custom_tool_call_output", "id": "cto_1", "call_id": "call_9", "output": "y", "status": "completed"}]),
        ),
    ]
}

fn said() -> Value {
    json!({"type": "message", "id": "m_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Here it is.", "annotations": []}]})
}

fn serving(output: Vec<Value>) -> Upstream {
    Upstream::scripted(move |number, request| {
        let output = if number == 0 { output.clone() } else { vec![said()] };
        let response = json!({"id": format!("resp_{number}"), "object": "response", "model": "m", "status": "completed",
            "error": null, "output": output, "usage": {"input_tokens": 9, "output_tokens": 3}});
        if request.body["stream"] != true {
            return Act::Body("application/json", response.to_string());
        }
        let mut events =
            vec![json!({"type": "response.created", "response": {"id": response["id"], "error": null}})];
        for (place, item) in output.iter().enumerate() {
            events.push(json!({"type": "response.output_item.added", "output_index": place, "item": item}));
            events.push(json!({"type": "response.output_item.done", "output_index": place, "item": item}));
        }
        events.push(json!({"type": "response.completed", "response": response}));
        let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
        Act::Body("text/event-stream", events.iter().map(event).collect())
    })
}

/// As clients send an item back that they have read into a form of their own: what is null or tells nothing is left out.
fn rewritten(item: &Value) -> Value {
    let mut item = item.clone();
    let members = item.as_object_mut().unwrap();
    members.retain(|name, value| {
        !value.is_null() && !["status", "created_by", "max_output_length"].contains(&name.as_str())
    });
    if members.contains_key("call_id") || members["type"] == "message" {
        members.remove("id");
    }
    item
}

#[test]
fn whatever_a_response_puts_out_is_recorded_and_found_again() {
    found_again("whole", false, false);
}

#[test]
fn whatever_a_stream_puts_out_is_recorded_and_found_again() {
    found_again("streamed", true, false);
}

#[test]
fn whatever_its_client_writes_anew_is_found_again() {
    found_again("rewritten", false, true);
}

fn found_again(way: &str, is_streamed: bool, is_rewritten: bool) {
    run(async {
        for (kind, items) in outputs() {
            let mut output: Vec<Value> = items.as_array().unwrap().clone();
            output.push(said());
            let mut house = House::new(serving(output.clone()), |_| {}).await;
            let mut agent = Agent::new(&house, Dialect::Responses);
            agent.history.push(json!({"role": "user", "content": "Do it."}));
            let (url, mut body) = agent.request();
            body["stream"] = json!(is_streamed);
            let response = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
            let session = header(response.headers(), "x-epitome-session").to_owned();
            response.text().await.unwrap();
            let echo = |item: &Value| if is_rewritten { rewritten(item) } else { item.clone() };
            agent.history.extend(output.iter().map(echo));
            let (on, _) = agent.say("Thank you.").await;
            assert_eq!(header(&on, "x-epitome-session"), session, "{kind} {way}: at hand");
            let (folder, upstream) = house.close().await;
            let spool = folder.path().join("spool");
            let left = std::fs::read_dir(&spool).map(Iterator::count).unwrap_or_default();
            assert_eq!(left, 0, "{kind} {way}: nothing waits");
            house = House::at(folder, upstream, |_| {}).await;
            agent.url.clone_from(&house.url);
            let (later, status) = agent.say("Once more.").await;
            let told = (status, header(&later, "x-epitome-error"), header(&later, "x-epitome-session"));
            assert_eq!(told, (200, "", session.as_str()), "{kind} {way}: by the ledger");
            let all = house.recorded().await;
            let [(recorded, _)] = all.as_slice() else { panic!("{kind} {way}: {}", all.len()) };
            assert_eq!(recorded.messages, output.len() as u64 + 5, "{kind} {way}");
        }
    });
}
