"""Runs whole agents on the errand, straight to the scripted provider and through the proxy, and judges what came of it.

agents.py EPITOME FOLDER [NAME…]: the program and the folder where the agents are installed. One line a case; the exit code is 1 if any failed.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import cases
import errand
import hands
import judge
from cases import CASES, KEY

HERE = pathlib.Path(__file__).parent
SECONDS = 600
TIMES_OVER = 3
TURNS = 60
SHOWN = 8


class Server:
    """A process that prints where it listens, for as long as it is needed."""

    def __init__(self, command, log, sign, variables=None):
        self.log = log
        with log.open("w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **(variables or {})})
        self.line = self.first_line(sign)

    def first_line(self, sign):
        for _ in range(300):
            lines = self.log.read_text().splitlines()
            found = next((line for line in lines if sign in line), None)
            if found:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"a server did not start: {self.log.read_text()[-500:]}")

    def addresses(self):
        return [word.rstrip(",") for word in self.line.split() if word.startswith("http://")]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)


def settings(case, place):
    """What the proxy is told: a window of its own for the model, and no more."""
    place.write_text(f'[models."{case.model}"]\nwindow = {case.window}\nmax_output = 2048\n')
    return place


def run(case, way, address, epitome, folder):
    """An agent, from a folder and a home that nobody used before; its exit codes and what is in the folder at the end."""
    scratch = folder / "runs" / case.name / way
    home, project = scratch / "home", scratch / hands.FOLDER
    for place in (home, project):
        place.mkdir(parents=True)
    subprocess.run([sys.executable, str(HERE / "errand.py"), str(project)], check=True)
    variables = cases.surroundings(case, folder, home, cases.pasted(epitome, case.agent, address, home))
    codes = []
    for command, typed in case.processes():
        with (scratch / f"{len(codes) + 1}.log").open("w") as log:
            codes.append(ended(command, typed, project, variables, log))
        if codes[-1] != 0:
            break
    # What agents keep for themselves is hidden.
    files = [file for file in sorted(project.rglob("*")) if file.is_file() and not any(part.startswith(".") for part in file.relative_to(project).parts)]
    texts = {str(file.relative_to(project)): file.read_text() for file in files}
    return {"codes": codes, "files": texts, "said": (scratch / f"{len(codes)}.log").read_text()}


def ended(command, typed, project, variables, log):
    program = shutil.which(command[0], path=variables["PATH"]) or command[0]
    with subprocess.Popen(
        [program, *command[1:]], cwd=project, env=variables, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, text=True
    ) as process:
        try:
            process.communicate(typed, SECONDS)
            return process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return "out of time"


def told(epitome, database, *arguments):
    """Lines of JSON that a command prints of the ledger."""
    done = subprocess.run([epitome, *arguments, "--db", database, "--json"], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def ledger(epitome, database):
    """The sessions that the proxy kept, with all that was said in each."""
    sessions = told(epitome, database, "sessions", "--limit", "500")
    return [{**session, "messages": told(epitome, database, "history", session["id"])} for session in sessions]


def play(case, epitome, folder):
    """Both ways of one case, at the same time."""
    shutil.rmtree(folder / "runs" / case.name, ignore_errors=True)
    place = folder / "runs" / case.name
    place.mkdir(parents=True)
    upstream = [sys.executable, str(HERE.parent / "clients" / "upstream.py"), case.story().__name__, str(case.window), str(place / "bodies")]
    database = f"sqlite:{place / 'ledger.db'}"
    with Server(upstream, place / "upstream.log", "http://") as provider:
        small, large = provider.addresses()
        serve = [epitome, "serve", "--listen", "127.0.0.1:0", "--config", str(settings(case, place / "epitome.toml")), "--db", database]
        with Server([*serve, "--anthropic-upstream", small, "--openai-upstream", small], place / "proxy.log", "http://127") as proxy:
            with ThreadPoolExecutor() as runs:
                ways = [
                    runs.submit(run, case, way, address, epitome, folder)
                    for way, address in (("straight", large), ("proxied", proxy.addresses()[0]))
                ]
                straight, proxied = [way.result() for way in ways]
        straight["requests"], proxied["requests"] = judge.seen(large, KEY), judge.seen(small, KEY)
    proxied["sessions"] = ledger(epitome, database)
    (place / "result.json").write_text(json.dumps({"straight": straight, "proxied": proxied}, indent=1))
    return straight, proxied


def faults(case, straight, proxied):
    """What is wrong with a case, most telling first."""
    for way, result in (("straight", straight), ("through the proxy", proxied)):
        if result["codes"] != [0] * len(case.processes()):
            yield f"{way}: exit codes {result['codes']}"
        refused = [request["why"] for request in result["requests"] if request["status"] == 400]
        if refused and way == "straight":
            yield f"{way}: refused: {refused[0]}"
        if "Signed HERON-4417." not in result["files"].get("report.md", "") or errand.CLOSING not in result["said"]:
            yield f"{way}: the report was not closed"
    differing = [name for name in straight["files"] | proxied["files"] if straight["files"].get(name) != proxied["files"].get(name)]
    if differing:
        yield f"another result in {differing}"
    if len(turns(proxied)) < TURNS:
        yield f"{len(turns(proxied))} turns only"
    largest = max((request["tokens"] for request in straight["requests"]), default=0)
    if largest < TIMES_OVER * case.window:
        yield f"{largest} tokens do not fill a window of {case.window} three times over"
    yield from judge.upstream_faults(proxied["requests"])
    yield from recorded(case, proxied)


def turns(result):
    """The calls of the errand that were answered; side calls are none."""
    return [request for request in result["requests"] if request["status"] == 200 and request.get("at") is not None]


def recorded(case, proxied):
    """What is wrong with the ledger: one session holds the whole errand, and in it every call and every line that was read."""
    errands = [session for session in proxied["sessions"] if errand.OPENING in bodies(session)]
    if not errands or len(errands) > 1 and not case.forks:
        yield f"{len(errands)} sessions of the errand instead of one"
    if not errands:
        return
    compactions = sum(session["compactions"] for session in errands)
    if compactions < TIMES_OVER:
        yield f"{compactions} compactions only"
    longest = max(errands, key=lambda session: session["turns"])
    yield from case.story().lost(bodies(longest), {request["at"] for request in turns(proxied)})


def bodies(session):
    return "\n".join(message["body"] for message in session["messages"])


def main():
    epitome, folder, *chosen = sys.argv[1:]
    folder, failed = pathlib.Path(folder), 0
    for case in CASES:
        if chosen and case.name not in chosen and case.agent not in chosen:
            continue
        straight, proxied = play(case, epitome, folder)
        found = list(dict.fromkeys(faults(case, straight, proxied)))
        failed += bool(found)
        if found:
            print(f"failed {case.name}: {found[0]}" + "".join(f"\n    and {fault}" for fault in found[1:SHOWN]), flush=True)
        else:
            largest = [max(request["tokens"] for request in result["requests"]) for result in (straight, proxied)]
            print(f"passed {case.name}: {len(turns(proxied))} turns, at most {largest[1]} tokens of {case.window}, {largest[0]} without", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
