"""The official Python SDK `openai`: Chat Completions and Responses; sync, async, streams, the tool runner."""

import asyncio
import json

import observed
import openai
import story
from observed import BASE, OPENAI_MODEL, SURPRISING_OPENAI_MODEL, SURPRISING_RESPONSES_MODEL, read_file
from openai.lib.responses_tool_runner import AsyncRegisteredFunction, AsyncResponsesToolRunner, RegisteredFunction, ResponsesToolRunner

FUNCTION = {"name": story.TOOL, "description": story.DESCRIPTION, "parameters": story.PARAMETERS, "strict": True}
CHAT = {"model": OPENAI_MODEL, "tools": [{"type": "function", "function": FUNCTION}]}
RESPONSES_TOOL = {"type": "function", **FUNCTION}
RESPONSES = {"model": OPENAI_MODEL, "instructions": story.SYSTEM, "tools": [RESPONSES_TOOL], "store": False}


def client(key):
    return openai.OpenAI(api_key=key, base_url=f"{BASE}/v1")


def client_async(key):
    return openai.AsyncOpenAI(api_key=key, base_url=f"{BASE}/v1")


async def chat_conversation(ask):
    messages, finals = [{"role": "system", "content": story.SYSTEM}], []
    for task in (story.HALF, story.REST):
        messages.append({"role": "user", "content": task})
        while True:
            message = await ask(messages)
            messages.append(message)
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                text = read_file(json.loads(call.function.arguments)["number"])
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
        finals.append(message.content)
    return finals


async def responses_conversation(ask):
    items, finals = [], []
    for task in (story.HALF, story.REST):
        items.append({"role": "user", "content": task})
        while True:
            response = await ask(items)
            items += response.output
            calls = [item for item in response.output if item.type == "function_call"]
            for call in calls:
                text = read_file(json.loads(call.arguments)["number"])
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": text})
            if not calls:
                break
        finals.append(response.output_text)
    return finals


def at_once(conversation, ask):
    """A conversation with the blocking client."""

    async def asked(messages):
        return ask(messages)

    return asyncio.run(conversation(asked))


def later(key, conversation, ask):
    async def whole():
        async with client_async(key) as here:
            return await conversation(lambda messages: ask(here, messages))

    return asyncio.run(whole())


def chat(key):
    here = client(key)
    return at_once(chat_conversation, lambda messages: here.chat.completions.create(messages=messages, **CHAT).choices[0].message)


def chat_async(key):
    async def ask(here, messages):
        return (await here.chat.completions.create(messages=messages, **CHAT)).choices[0].message

    return later(key, chat_conversation, ask)


def chat_stream(key):
    here = client(key)

    def ask(messages):
        with here.chat.completions.stream(messages=messages, **CHAT) as events:
            for event in events:
                assert event.type != "chunk" or event.chunk.usage is None, "usage came unasked"
            return events.get_final_completion().choices[0].message

    return at_once(chat_conversation, ask)


def chat_async_stream(key):
    async def ask(here, messages):
        options = {"stream_options": {"include_usage": True}}
        async with here.chat.completions.stream(messages=messages, **CHAT, **options) as events:
            completion = await events.get_final_completion()
        assert completion.usage, "usage was asked for and did not come"
        return completion.choices[0].message

    return later(key, chat_conversation, ask)


def chat_overflow(key):
    """A model whose window is smaller than the proxy believes."""
    here = client(key)
    other = {**CHAT, "model": SURPRISING_OPENAI_MODEL}

    def ask(messages):
        with here.chat.completions.stream(messages=messages, **other) as events:
            return events.get_final_completion().choices[0].message

    return at_once(chat_conversation, ask)


def responses_overflow(key):
    here = client(key)
    other = {**RESPONSES, "model": SURPRISING_RESPONSES_MODEL}
    return at_once(responses_conversation, lambda items: here.responses.create(input=items, **other))


def responses(key):
    here = client(key)
    return at_once(responses_conversation, lambda items: here.responses.create(input=items, **RESPONSES))


def responses_async(key):
    return later(key, responses_conversation, lambda here, items: here.responses.create(input=items, **RESPONSES))


def responses_stream(key):
    here = client(key)

    def ask(items):
        with here.responses.stream(input=items, **RESPONSES) as events:
            return events.get_final_response()

    return at_once(responses_conversation, ask)


def responses_async_stream(key):
    async def ask(here, items):
        async with here.responses.stream(input=items, **RESPONSES) as events:
            return await events.get_final_response()

    return later(key, responses_conversation, ask)


RUNNER = {**RESPONSES, "input": [{"role": "user", "content": story.WHOLE}]}
RUNNER.pop("tools")


def runner(key, **how):
    function = RegisteredFunction(RESPONSES_TOOL, lambda given: read_file(given["number"]))
    return ResponsesToolRunner(functions=[function]).run(client(key), RUNNER, max_steps=60, **how).output_text


def runner_stream(key):
    return runner(key, stream=True)


def runner_async(key):
    async def execute(given):
        return read_file(given["number"])

    async def whole():
        function = AsyncRegisteredFunction(RESPONSES_TOOL, execute)
        async with client_async(key) as here:
            return (await AsyncResponsesToolRunner(functions=[function]).run(here, RUNNER, max_steps=60)).output_text

    return asyncio.run(whole())


observed.run(
    "python-openai",
    {
        "chat": chat,
        "chat-async": chat_async,
        "chat-stream": chat_stream,
        "chat-async-stream": chat_async_stream,
        "chat-overflow": chat_overflow,
        "responses": responses,
        "responses-async": responses_async,
        "responses-stream": responses_stream,
        "responses-async-stream": responses_async_stream,
        "responses-overflow": responses_overflow,
        "responses-runner": runner,
        "responses-runner-stream": runner_stream,
        "responses-async-runner": runner_async,
    },
)
