"""What all client programs in Python share: where to send, the files, and what came back in each answer's headers.

The packages stay as they are: the observer stands where their HTTP library sends a request.
"""

import functools
import json
import os
import pathlib
import traceback

BASE = os.environ["CLIENTS_BASE"]
FILES = pathlib.Path(os.environ["CLIENTS_FILES"])
ANTHROPIC_MODEL = os.environ["CLIENTS_ANTHROPIC_MODEL"]
BINDING_MODEL = os.environ["CLIENTS_BINDING_MODEL"]
OPENAI_MODEL = os.environ["CLIENTS_OPENAI_MODEL"]
# The proxy is told nothing of these, so it takes their windows to be what they usually are.
SURPRISING_ANTHROPIC_MODEL = "claude-opus-4-8"
SURPRISING_OPENAI_MODEL = "gpt-5"
SURPRISING_RESPONSES_MODEL = "gpt-5-mini"
ONLY = os.environ["CLIENTS_ONLY"].split()

answers = []


def note(request, response):
    told = {name: response.headers.get(f"x-epitome-{name}") for name in ("session", "turn", "tokens-before", "tokens-after", "compaction", "error")}
    answers.append({"path": request.url.path, "status": response.status_code, **told})
    return response


def observe(library):
    send, send_later = library.Client.send, library.AsyncClient.send

    @functools.wraps(send)
    def sent(self, request, **how):
        return note(request, send(self, request, **how))

    @functools.wraps(send_later)
    async def sent_later(self, request, **how):
        return note(request, await send_later(self, request, **how))

    library.Client.send, library.AsyncClient.send = sent, sent_later


for name in ("httpx", "httpx2"):
    try:
        observe(__import__(name))
    except ImportError:
        pass


def read_file(number):
    return (FILES / f"{number}.txt").read_text()


def run(program, cases):
    """Runs each case with a key of its own, and prints what became of it as a line of JSON."""
    for name, case in cases.items():
        key = f"{program}-{name}"
        if ONLY and not any(key.startswith(one) for one in ONLY):
            continue
        answers.clear()
        result = {"case": key, "final": None, "error": None}
        try:
            result["final"] = case(key)
        except Exception as error:
            result["error"] = f"{type(error).__name__}: {error}"[:500]
            if os.environ.get("CLIENTS_TRACE"):
                traceback.print_exc()
        print(json.dumps({**result, "answers": answers}), flush=True)
