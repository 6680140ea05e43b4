"""Runs the client programs, once straight to the scripted provider and once through the proxy, and judges what they did.

judge.py PROXY SMALL LARGE FOLDER [BEGINNING OF A NAME…]: the addresses of the proxy, of the provider with the small window (behind the proxy) and with the
large one; FOLDER holds `venv`, `node` and `files`. One line a case; the exit code is 1 if any failed.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import story

SHOWN = 6
HERE = pathlib.Path(__file__).parent
PROGRAMS = ["python_anthropic.py", "python_openai.py", "python_langchain.py", "node_anthropic.mjs", "node_openai.mjs"]


def commands(folder, program):
    if program.endswith(".py"):
        return [str(folder / "venv/bin/python"), str(HERE / program)]
    # Node finds packages by where a program lies.
    for name in (program, "observed.mjs"):
        shutil.copy(HERE / name, folder / "node" / name)
    return ["node", str(folder / "node" / program)]


def both(folder, program, large, proxy, chosen):
    """A program, straight and through the proxy, at the same time."""
    with ThreadPoolExecutor() as runs:
        ways = [runs.submit(run, folder, program, base, chosen) for base in (large, proxy)]
        return [way.result() for way in ways]


def run(folder, program, base, chosen):
    names = {"tool": story.TOOL, "description": story.DESCRIPTION, "parameters": story.PARAMETERS, "system": story.SYSTEM}
    tasks = {"half": story.HALF, "rest": story.REST, "whole": story.WHOLE}
    where = {"CLIENTS_BASE": base, "CLIENTS_FILES": str(folder / "files"), "CLIENTS_ONLY": " ".join(chosen), "NODE_NO_WARNINGS": "1"}
    surroundings = {**os.environ, **where, "CLIENTS_STORY": json.dumps({**names, **tasks})}
    done = subprocess.run(commands(folder, program), env=surroundings, stdout=subprocess.PIPE, text=True, timeout=600)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        print(f"failed {program}: exit code {done.returncode}")
    return {line["case"]: line for line in lines}, done.returncode


def seen(upstream, case):
    with urllib.request.urlopen(f"{upstream}/log?key={urllib.parse.quote(case)}") as answer:
        return json.load(answer)


def faults(direct, proxied, requests):
    """What is wrong with a case, most telling first."""
    for way, result in (("directly", direct), ("through the proxy", proxied)):
        if not result or result["error"]:
            yield f"{way}: {result['error'] if result else 'it did not run'}"
    if direct and proxied and direct["final"] != proxied["final"]:
        yield f"another result: {proxied['final']!r}, not {direct['final']!r}"
    if not proxied:
        return
    answers = [answer for answer in proxied["answers"] if "status" in answer]
    refused = [answer["status"] for answer in answers if 400 <= answer["status"] < 500]
    if refused:
        yield f"the client was refused: {refused}"
    surprised = "overflow" in proxied["case"]
    yield from upstream_faults(requests, surprised)
    asked = [answer for answer in answers if not answer["path"].endswith("/count_tokens")]
    yield from strays(asked)
    yield from retries(asked)
    errors = {answer["error"] for answer in answers if answer["error"]}
    if errors:
        yield f"x-epitome-error: {errors}"
    # What the provider's server holds is not ours to compact.
    if surprised and not any(request["status"] == 400 for request in requests):
        yield "nothing overflowed"
    if not compacted(proxied) and not proxied["case"].endswith("-thread"):
        yield "nothing was compacted"
    for answer in proxied["answers"]:
        for count in answer.get("counts", []):
            if count > requests[0]["window"]:
                yield f"count_tokens says {count} of what is sent in {requests[0]['window']}"


def upstream_faults(requests, surprised=False):
    """What is wrong with what went up; one who is surprised does not know the window at first."""
    for request in requests:
        too_long = request["tokens"] > request["window"] and not request["path"].endswith("/count_tokens")
        if too_long and not surprised:
            yield f"{request['tokens']} tokens went up, of {request['window']}"
        if request["status"] == 400 and not too_long:
            yield f"upstream refused: {request['why']}"
    cuts = {number: request["tokens"] for request in requests for number in request.get("cut", [])}
    if cuts:
        yield f"{len(cuts)} files were cut before the model had seen them, in requests of {min(cuts.values())} to {max(cuts.values())} tokens"


def strays(answers):
    sessions = [answer["session"] for answer in answers]
    changes = [at + 1 for at in range(1, len(sessions)) if sessions[at] != sessions[at - 1]]
    if changes:
        yield f"{len(set(sessions))} sessions instead of one; answers of another than the one before: {changes}"


def retries(answers):
    failed = [at for at, answer in enumerate(answers) if answer["status"] >= 500]
    if len(failed) != len(story.FAULTS):
        yield f"{len(failed)} failures reached the client, not {len(story.FAULTS)}"
    for at in failed:
        turns = [answer["turn"] for answer in answers[at : at + 2]]
        if len(set(turns)) != 1:
            yield f"a retry is another turn: {turns}"


def compacted(proxied):
    """How many answers were to a request that did not go up whole."""
    return sum(answer.get("compaction") not in (None, "none") for answer in proxied["answers"])


def figures(proxied, requests):
    largest = max((request["tokens"] for request in requests), default=0)
    refused = sum(request["status"] == 400 for request in requests)
    overflows = f" ({refused} refused as too long)" if refused else ""
    return f"{len(requests)} requests{overflows}, at most {largest} tokens, {compacted(proxied)} of them made smaller"


def main():
    proxy, small, large, folder, *chosen = sys.argv[1:]
    folder, failed = pathlib.Path(folder), 0
    for program in PROGRAMS:
        name = program.split(".")[0].replace("_", "-")
        if chosen and not any(name.startswith(one) or one.startswith(name) for one in chosen):
            continue
        (direct, first), (proxied, second) = both(folder, program, large, proxy, chosen)
        failed += bool(first or second)
        for case in direct | proxied:
            requests = seen(small, case)
            found = list(dict.fromkeys(faults(direct.get(case), proxied.get(case), requests)))
            failed += bool(found)
            if found:
                print(f"failed {case}: {found[0]}" + "".join(f"\n    and {fault}" for fault in found[1:SHOWN]), flush=True)
            else:
                print(f"passed {case}: {figures(proxied[case], requests)}", flush=True)
            (folder / "results").mkdir(exist_ok=True)
            told = {"direct": direct.get(case), "proxied": proxied.get(case), "upstream": requests}
            (folder / "results" / f"{case}.json").write_text(json.dumps(told, indent=1))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
