"""The official Python SDK `anthropic`: sync, async, streams, tool runners, thinking, counting."""

import asyncio

import anthropic
import observed
import story
from observed import ANTHROPIC_MODEL, BASE, BINDING_MODEL, SURPRISING_ANTHROPIC_MODEL, read_file

TOOL = {"name": story.TOOL, "description": story.DESCRIPTION, "input_schema": story.PARAMETERS}
PARAMS = {"model": ANTHROPIC_MODEL, "max_tokens": 1024, "system": story.SYSTEM, "tools": [TOOL]}
CACHED = {"cache_control": {"type": "ephemeral"}}


def client(key):
    return anthropic.Anthropic(api_key=key, base_url=BASE)


def client_async(key):
    return anthropic.AsyncAnthropic(api_key=key, base_url=BASE)


def results(message):
    return [
        {"type": "tool_result", "tool_use_id": block.id, "content": read_file(block.input["number"])}
        for block in message.content
        if block.type == "tool_use"
    ]


def said(message):
    return "".join(block.text for block in message.content if block.type == "text")


def converse(ask):
    """Both tasks of the user in one conversation, each until no file is left to be read."""
    messages, finals = [], []
    for task in (story.HALF, story.REST):
        messages.append({"role": "user", "content": task})
        while True:
            message = ask(messages)
            messages.append({"role": "assistant", "content": message.content})
            if message.stop_reason != "tool_use":
                break
            messages.append({"role": "user", "content": results(message)})
        finals.append(said(message))
    return finals, messages


async def converse_async(ask):
    messages, finals = [], []
    for task in (story.HALF, story.REST):
        messages.append({"role": "user", "content": task})
        while True:
            message = await ask(messages)
            messages.append({"role": "assistant", "content": message.content})
            if message.stop_reason != "tool_use":
                break
            messages.append({"role": "user", "content": results(message)})
        finals.append(said(message))
    return finals


def create(key):
    here = client(key)
    return converse(lambda messages: here.messages.create(messages=messages, **PARAMS))[0]


def create_cached(key):
    """With a breakpoint on the newest message, as agents have it."""
    here = client(key)

    def ask(messages):
        *before, last = messages
        content = last["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = [*blocks[:-1], {**blocks[-1], **CACHED}]
        system = [{"type": "text", "text": story.SYSTEM, **CACHED}]
        return here.messages.create(messages=[*before, {**last, "content": blocks}], **{**PARAMS, "system": system})

    return converse(ask)[0]


def stream(key):
    here = client(key)

    def ask(messages):
        with here.messages.stream(messages=messages, **PARAMS) as events:
            text = "".join(events.text_stream)
            message = events.get_final_message()
        assert text == said(message), "the streamed text is not the message's"
        return message

    return converse(ask)[0]


THINKING = {**PARAMS, "max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024}}


def overflow(key):
    """A model whose window is smaller than the proxy believes."""
    here = client(key)
    return converse(lambda messages: here.messages.create(messages=messages, **{**PARAMS, "model": SURPRISING_ANTHROPIC_MODEL}))[0]


def overflow_stream(key):
    here = client(key)

    def ask(messages):
        with here.messages.stream(messages=messages, **{**PARAMS, "model": SURPRISING_ANTHROPIC_MODEL}) as events:
            return events.get_final_message()

    return converse(ask)[0]


def thinking(key):
    here = client(key)
    return converse(lambda messages: here.messages.create(messages=messages, **THINKING))[0]


def thinking_bound(key):
    """A model whose thinking is bound to all that stands before it."""
    here = client(key)
    bound = {**THINKING, "model": BINDING_MODEL}
    return converse(lambda messages: here.messages.create(messages=messages, **bound))[0]


def thinking_bound_stream(key):
    here = client(key)
    bound = {**THINKING, "model": BINDING_MODEL}

    def ask(messages):
        with here.messages.stream(messages=messages, **bound) as events:
            return events.get_final_message()

    return converse(ask)[0]


def count(key):
    """The count of the whole conversation is that of what would be sent, so it fits where the proxy keeps it so."""
    here = client(key)
    counts = []
    counted = {name: PARAMS[name] for name in ("model", "system", "tools")}

    def ask(messages):
        counts.append(here.messages.count_tokens(messages=messages, **counted).input_tokens)
        return here.messages.create(messages=messages, **PARAMS)

    finals, _ = converse(ask)
    observed.answers.append({"counts": counts})
    return finals


def later(key):
    async def whole():
        async with client_async(key) as here:
            return await converse_async(lambda messages: here.messages.create(messages=messages, **PARAMS))

    return asyncio.run(whole())


def stream_later(key):
    async def whole():
        async with client_async(key) as here:

            async def ask(messages):
                async with here.messages.stream(messages=messages, **PARAMS) as events:
                    async for _ in events:
                        pass
                    return await events.get_final_message()

            return await converse_async(ask)

    return asyncio.run(whole())


@anthropic.beta_tool(name=story.TOOL)
def tool(number: int) -> str:
    """Reads one file of the depot.

    Args:
        number: which file
    """
    return read_file(number)


@anthropic.beta_async_tool(name=story.TOOL)
async def tool_later(number: int) -> str:
    """Reads one file of the depot.

    Args:
        number: which file
    """
    return read_file(number)


# Without `thread`, the server of the provider holds the conversation.
RUNNER = {**PARAMS, "messages": [{"role": "user", "content": story.WHOLE}], "thread": False}
THREADED = {name: value for name, value in RUNNER.items() if name != "thread"}


def runner(key):
    return said(client(key).beta.messages.tool_runner(**{**RUNNER, "tools": [tool]}).until_done())


def runner_stream(key):
    for events in client(key).beta.messages.tool_runner(**{**RUNNER, "tools": [tool]}, stream=True):
        message = events.get_final_message()
    return said(message)


def runner_thread(key):
    return said(client(key).beta.messages.tool_runner(**{**THREADED, "tools": [tool]}).until_done())


def runner_later(key):
    async def whole():
        async with client_async(key) as here:
            return said(await here.beta.messages.tool_runner(**{**RUNNER, "tools": [tool_later]}).until_done())

    return asyncio.run(whole())


observed.run(
    "python-anthropic",
    {
        "create": create,
        "create-cached": create_cached,
        "async": later,
        "stream": stream,
        "async-stream": stream_later,
        "runner": runner,
        "runner-stream": runner_stream,
        "async-runner": runner_later,
        "runner-thread": runner_thread,
        "count": count,
        "overflow": overflow,
        "overflow-stream": overflow_stream,
        "thinking": thinking,
        "thinking-bound": thinking_bound,
        "thinking-bound-stream": thinking_bound_stream,
    },
)
