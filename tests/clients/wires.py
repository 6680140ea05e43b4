"""What the three APIs demand of a request, and how an answer is told in each: whole, and as events.

`read_*` gives a `Told` or raises `Refused` with what the provider would say. `whole_*` and `events_*` tell a `Reply`.
"""

import hashlib
import json
from dataclasses import dataclass, field


# The models whose thinking is bound to all that stands before it.
BINDING = "claude-fable-5-1"


class Refused(Exception):
    """A request that the provider answers with 400."""


@dataclass
class Call:
    """A call of a tool: what it is given is fields, or plain text where the tool takes no fields."""

    id: str
    name: str
    given: dict | str
    result: str = ""


@dataclass
class Told:
    """What a request says, whatever its API: all its text, the calls whose results end it, and the user's last words."""

    text: str
    calls: list = field(default_factory=list)
    asked: str = ""


@dataclass
class Reply:
    """What the model says. The ids of its calls are the story's names for them; `named` makes them ids of the API."""

    model: str
    text: str
    calls: list
    tokens: int
    thinking: str | None = None
    usage_wanted: bool = True

    def named(self):
        told = hashlib.sha256(self.text.encode()).hexdigest()[:8]
        return [(f"call_{call.id}_{told}", call) for call in self.calls]

    def name(self, kind):
        return f"{kind}_{hashlib.sha256((self.text + str(self.tokens)).encode()).hexdigest()[:16]}"

    def output(self):
        return 20 + len(self.text) // 4


def require(condition, words):
    if not condition:
        raise Refused(words)


def tools(body):
    """The tools of a request by name, with the fields that each takes; nothing for those that take plain text."""
    found = {}
    for tool in body.get("tools") or []:
        tool = tool.get("function") or tool
        fields = tool.get("parameters") or tool.get("input_schema")
        if tool.get("name") and (fields or tool.get("type") == "custom"):
            found[tool["name"]] = fields
    return found


def story_id(call):
    """The story's name of a call, of an id that the API knows it by."""
    return call.split("call_")[-1].rsplit("_", 1)[0]


def pieces(text, size=7):
    return [text[at : at + size] for at in range(0, len(text), size)]


def words(content):
    """All text of a content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or words(part.get("content") or "") for part in content or [])


# Anthropic Messages


def read_anthropic(body, headers):
    messages = body["messages"]
    require(messages and messages[0]["role"] == "user", "messages: first message must use the \"user\" role")
    spoken = [message for message in messages if message["role"] != "system"]
    require(spoken[-1]["role"] == "user", "This model does not support assistant message prefill.")
    breakpoints = marked(body)
    require(breakpoints <= 4, f"A maximum of 4 blocks with cache_control may be provided. Found {breakpoints}.")
    text, open_calls, calls, before = [words(body.get("system") or "")], [], [], None
    for at, message in enumerate(messages):
        if message["role"] == "system":
            require(before == "user", f"messages.{at}: role 'system' is only allowed after a user turn")
            require(message["content"] or message.get("output_config"), f"messages.{at}: system content must be non-empty")
            text.append(words(message["content"]))
            continue
        require(message["role"] != before, f"messages.{at}: roles must alternate between \"user\" and \"assistant\"")
        before = message["role"]
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        require(blocks, f"messages.{at}: all messages must have non-empty content")
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        require(
            sorted(results) == sorted(open_calls),
            f"messages.{at}: `tool_use` ids {open_calls} and `tool_result` blocks {results} do not belong together",
        )
        kinds = [block["type"] for block in blocks]
        require("tool_result" not in kinds[len(results) :], f"messages.{at}: tool_result blocks must come first")
        if message["role"] == "assistant":
            check_thinking(body, at, blocks, headers)
        calls = [block for block in blocks if block["type"] == "tool_use"] or calls
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for block in blocks:
            require(block["type"] != "text" or block["text"].strip(), f"messages.{at}: text content blocks must be non-empty")
        text.append(words(blocks))
    require(not open_calls, f"messages: `tool_use` ids without `tool_result`: {open_calls}")
    last = spoken[-1]["content"]
    results = {} if isinstance(last, str) else {block["tool_use_id"]: block for block in last if block["type"] == "tool_result"}
    answered = [
        Call(story_id(call["id"]), call["name"], call["input"], words(results[call["id"]].get("content") or ""))
        for call in calls
        if call["id"] in results
    ]
    return Told("\n".join(text), answered, words(last))


def marked(value):
    """How many breakpoints of the cache there are; nothing in place of one is none."""
    if isinstance(value, dict):
        return bool(value.get("cache_control")) + sum(marked(item) for item in value.values())
    return sum(marked(item) for item in value) if isinstance(value, list) else 0


def bound(body, until):
    """What a thinking block is bound to: everything before its message."""

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if key != "cache_control"}
        return [plain(item) for item in value] if isinstance(value, list) else value

    before = plain([body.get("system"), body.get("tools"), body["messages"][:until]])
    return hashlib.sha256(json.dumps(before, sort_keys=True).encode()).hexdigest()


def check_thinking(body, at, blocks, headers):
    if not body["model"].startswith(BINDING):
        return
    dropped = (body.get("thinking") or {}).get("block_binding", {}).get("prefix_mismatch_behavior") == "drop_block"
    dropped = dropped and "thinking-binding-controls-2026-08-01" in headers.get("anthropic-beta", "")
    for block in blocks:
        if block["type"] == "thinking" and not dropped:
            require(
                block["signature"] == bound(body, at),
                f"messages.{at}: `thinking` block is bound to other messages than those before it",
            )


def whole_anthropic(reply):
    content = [{"type": "thinking", "thinking": "I go on.", "signature": reply.thinking}] if reply.thinking else []
    content.append({"type": "text", "text": reply.text, "citations": None})
    content += [
        {"type": "tool_use", "id": "toolu_" + name, "name": call.name, "input": call.given, "caller": {"type": "direct"}}
        for name, call in reply.named()
    ]
    return {
        "id": reply.name("msg"),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": "tool_use" if reply.calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": reply.tokens, "output_tokens": reply.output(), "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }


def events_anthropic(reply):
    whole = whole_anthropic(reply)
    blocks, stop, usage = whole["content"], whole["stop_reason"], whole["usage"]
    yield "message_start", {"message": {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}}
    yield "ping", {}
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            start, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        elif block["type"] == "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        else:
            start = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(json.dumps(block["input"]), 5)]]
        yield "content_block_start", {"index": index, "content_block": start}
        for delta in deltas:
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    yield "message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": usage["output_tokens"]}}
    yield "message_stop", {}


# Chat Completions


def read_chat(body):
    text, open_calls, told, asked = [], [], {}, ""
    for at, message in enumerate(body["messages"]):
        role = message["role"]
        if role == "tool":
            require(message["tool_call_id"] in open_calls, f"messages.[{at}]: 'tool' must answer a preceding 'tool_calls'")
            open_calls.remove(message["tool_call_id"])
            told[message["tool_call_id"]].result = words(message["content"])
        else:
            require(not open_calls, f"messages.[{at}]: 'tool_calls' without response messages: {open_calls}")
        if role == "assistant":
            calls = message.get("tool_calls") or []
            require(calls or message.get("content"), f"messages.[{at}]: content is missing")
            open_calls = [call["id"] for call in calls]
            given = [(call["id"], call["function"]) for call in calls]
            told = {name: Call(story_id(name), one["name"], json.loads(one["arguments"])) for name, one in given}
        elif role == "user":
            told, asked = {}, words(message["content"])
        text.append(words(message.get("content") or ""))
    require(not open_calls, f"messages: 'tool_calls' without response messages: {open_calls}")
    require(body["messages"][-1]["role"] != "assistant", "messages: the last message is the assistant's")
    return Told("\n".join(text), list(told.values()), asked)


def chat_usage(reply):
    return {"prompt_tokens": reply.tokens, "completion_tokens": reply.output(), "total_tokens": reply.tokens + reply.output()}


def whole_chat(reply):
    message = {"role": "assistant", "content": reply.text, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": name, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.given)}}
            for name, call in reply.named()
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if reply.calls else "stop", "logprobs": None}
    head = {"id": reply.name("chatcmpl"), "object": "chat.completion", "created": 1, "model": reply.model}
    return {**head, "choices": [choice], "usage": chat_usage(reply)}


def events_chat(reply):
    head = {"id": reply.name("chatcmpl"), "object": "chat.completion.chunk", "created": 1, "model": reply.model}

    def chunk(delta, finish=None):
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(reply.text):
        yield chunk({"content": piece})
    for index, (name, call) in enumerate(reply.named()):
        function = {"name": call.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": name, "type": "function", "function": function}]})
        for piece in pieces(json.dumps(call.given), 5):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if reply.calls else "stop")
    if reply.usage_wanted:
        yield {**head, "choices": [], "usage": chat_usage(reply)}


# Responses


def read_responses(body):
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    text, open_calls, told, asked = [body.get("instructions") or ""], {}, [], ""
    for at, item in enumerate(items):
        kind = item.get("type") or "message"
        if kind in ("function_call", "custom_tool_call"):
            given = json.loads(item["arguments"]) if kind == "function_call" else item["input"]
            open_calls[item["call_id"]] = kind, Call(story_id(item["call_id"]), item["name"], given)
            told.append(open_calls[item["call_id"]][1])
        elif kind in ("function_call_output", "custom_tool_call_output"):
            asking, call = open_calls.pop(item["call_id"], ("", None))
            known = kind == asking + "_output"
            require(known, f"No tool call found for function call output with call_id {item['call_id']}. (input[{at}])")
            call.result = words(item["output"])
            text.append(call.result)
        elif kind == "message":
            require(not open_calls, f"No tool output found for function call {list(open_calls)}.")
            told = []
            if item["role"] == "user":
                asked = words(item["content"])
            text.append(words(item["content"]))
    require(not open_calls, f"No tool output found for function call {list(open_calls)}.")
    return Told("\n".join(text), told, asked)


def output_items(reply):
    part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
    items = [{"id": reply.name("msg"), "type": "message", "role": "assistant", "status": "completed", "content": [part]}]
    for name, call in reply.named():
        item = {"id": "fc_" + name, "type": "function_call", "status": "completed", "call_id": name, "name": call.name}
        if isinstance(call.given, str):
            items.append({**item, "id": "ctc_" + name, "type": "custom_tool_call", "input": call.given})
        else:
            items.append({**item, "arguments": json.dumps(call.given)})
    return items


def whole_responses(reply, request):
    usage = {
        "input_tokens": reply.tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": reply.output(),
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.tokens + reply.output(),
    }
    return {
        "id": reply.name("resp"), "object": "response", "created_at": 1, "status": "completed", "model": reply.model,
        "output": output_items(reply), "usage": usage, "error": None, "incomplete_details": None, "instructions": request.get("instructions"),
        "metadata": {}, "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto", "tools": request.get("tools") or [],
        "top_p": 1.0, "store": request.get("store", True), "truncation": "disabled",
    }  # fmt: skip


def events_responses(reply, request):
    whole = whole_responses(reply, request)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(whole["output"]):
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            part = item["content"][0]
            inside = {**place, "content_index": 0}
            yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress", "content": []}}
            yield {"type": "response.content_part.added", **inside, "part": {**part, "text": ""}}
            for piece in pieces(reply.text):
                yield {"type": "response.output_text.delta", **inside, "delta": piece, "logprobs": []}
            yield {"type": "response.output_text.done", **inside, "text": reply.text, "logprobs": []}
            yield {"type": "response.content_part.done", **inside, "part": part}
        else:
            custom = item["type"] == "custom_tool_call"
            kind, given = ("custom_tool_call_input", "input") if custom else ("function_call_arguments", "arguments")
            yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress", given: ""}}
            for piece in pieces(item[given], 5):
                yield {"type": f"response.{kind}.delta", **place, "delta": piece}
            yield {"type": f"response.{kind}.done", **place, "name": item["name"], given: item[given]}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": whole}
