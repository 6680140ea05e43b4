"""LangChain's `langchain-anthropic` and `langchain-openai` in an agent's loop with a tool: sync, async, streamed."""

import asyncio

import observed
import story
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from observed import ANTHROPIC_MODEL, BASE, OPENAI_MODEL, read_file


@tool(story.TOOL)
def read(number: int) -> str:
    """Reads one file of the depot."""
    return read_file(number)


def anthropic(key):
    return ChatAnthropic(model=ANTHROPIC_MODEL, api_key=key, base_url=BASE, max_tokens=1024)


def chat(key):
    return ChatOpenAI(model=OPENAI_MODEL, api_key=key, base_url=f"{BASE}/v1", use_responses_api=False)


def responses(key):
    return ChatOpenAI(model=OPENAI_MODEL, api_key=key, base_url=f"{BASE}/v1", use_responses_api=True, store=False)


async def invoke(model, messages):
    return model.invoke(messages)


async def invoke_later(model, messages):
    return await model.ainvoke(messages)


async def stream(model, messages):
    whole = None
    for chunk in model.stream(messages):
        whole = chunk if whole is None else whole + chunk
    return whole


async def stream_later(model, messages):
    whole = None
    async for chunk in model.astream(messages):
        whole = chunk if whole is None else whole + chunk
    return whole


def agent(make, ask):
    async def loop(key):
        model = make(key).bind_tools([read])
        messages, finals = [SystemMessage(story.SYSTEM)], []
        for task in (story.HALF, story.REST):
            messages.append(HumanMessage(task))
            while True:
                message = await ask(model, messages)
                messages.append(message)
                if not message.tool_calls:
                    break
                messages += [read.invoke(call) for call in message.tool_calls]
            finals.append(message.text)
        return finals

    return lambda key: events.run(loop(key))


# One for all cases: LangChain keeps its connections from one model to the next.
events = asyncio.Runner()

observed.run(
    "python-langchain",
    {
        f"{name}{ending}": agent(make, ask)
        for name, make in (("anthropic", anthropic), ("chat", chat), ("responses", responses))
        for ending, ask in (("", invoke), ("-async", invoke_later), ("-stream", stream), ("-async-stream", stream_later))
    },
)
