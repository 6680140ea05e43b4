"""A hundred thousand requests through `epitome serve` as a process of its own, and what it holds meanwhile.

    python3 leak.py PROGRAM [REQUESTS [SESSIONS]]

Every session begins with 90 KB and grows by two messages with each call, to 100 KB and some. Sessions take turns by chance, so that no cache that is
smaller than all of them holds them all; every other call is streamed; one call in fifty is given up by its client, at three stages in turn, and
made once more. The upstream and the clients are processes of their own, so that nothing of theirs is counted.
"""

import json
import multiprocessing
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

BEGUN = 90_000  # bytes of a session before its first call
WORKERS = 4  # clients at a time
GIVEN_UP = 50  # one call in so many
ROWS = 20  # samples that are printed
GOAL = 200  # MB

WORDS = "harbour lantern copper meadow signal granite orchard ember violet anchor timber ferry".split()


def read_message(stream):
    """A head and a body with a length, or nothing where the other end has gone."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return None
        head += line
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    if length:
        return head, stream.read(int(length.group(1)))
    body = b""
    if re.search(rb"(?i)\r\ntransfer-encoding: *chunked", head):
        while size := int(stream.readline(), 16):
            body += stream.read(size)
            stream.readline()
        stream.readline()
    return head, body


# The upstream


def answer(body):
    usage = {"input_tokens": len(body) // 4, "output_tokens": 4}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    if b'"stream":true' not in body[:100]:
        content = [{"type": "text", "text": "Noted, and done."}]
        whole = json.dumps(message | {"content": content, "stop_reason": "end_turn", "usage": usage}).encode()
        return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(whole), whole)
    events = [
        {"type": "message_start", "message": message | {"content": [], "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Noted, and "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "done."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]
    out = [b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"]
    for event in events:
        piece = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        out.append(b"%x\r\n%s\r\n" % (len(piece), piece))
    return b"".join(out) + b"0\r\n\r\n"


def upstream(listener):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def connection(end):
        with end, end.makefile("rb") as stream:
            while message := read_message(stream):
                try:
                    end.sendall(answer(message[1]))
                except OSError:
                    return

    def caught(end):
        try:
            connection(end)
        except (OSError, ValueError):
            pass  # it was given up

    while True:
        end, _ = listener.accept()
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=caught, args=(end,), daemon=True).start()


# The clients


class Session:
    """A conversation as its client holds it: bytes that only grow."""

    def __init__(self, number, chance):
        self.number, self.turn = number, 0
        self.messages = bytearray()
        while len(self.messages) < BEGUN:
            self.say("user", f"Session {number}: " + " ".join(chance.choices(WORDS, k=180)))
            self.say("assistant", "Seen: " + " ".join(chance.choices(WORDS, k=180)))
        self.ask()

    def say(self, role, text):
        self.messages += b"," if self.messages else b""
        self.messages += json.dumps({"role": role, "content": text}).encode()

    def ask(self):
        self.turn += 1
        self.say("user", f"Order {self.turn} of session {self.number}: steer north.")

    def answered(self, status, body):
        assert status == 200, (status, body[:300])
        assert b"Noted, and " in body, body[:300]
        self.messages += b"," + json.dumps(
            {"role": "assistant", "content": [{"type": "text", "text": "Noted, and done."}]}
        ).encode()
        self.ask()

    def request(self):
        head = b'{"model":"claude-sonnet-4-5","stream":%s,"max_tokens":1000,"messages":['
        # Which way the answer comes is the session's own: the beginning of a client's calls is always the same.
        body = head % (b"true" if self.number % 2 else b"false") + self.messages + b"]}"
        return b"POST /v1/messages HTTP/1.1\r\nhost: p\r\nx-api-key: k\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


def clients(worker, port, sessions, requests, pulse, done):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    chance = random.Random(worker)
    mine = [Session(number, chance) for number in range(worker, sessions, WORKERS)]
    calls = [session for session in mine for _ in range(requests // sessions)]
    chance.shuffle(calls)
    end = stream = None

    def connected():
        end = socket.create_connection(("127.0.0.1", port))
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return end, end.makefile("rb")

    for count, session in enumerate(calls):
        request = session.request()
        if count % GIVEN_UP == GIVEN_UP - 1:
            leaver, its = connected()
            stage = count // GIVEN_UP % 3
            leaver.sendall(request[: len(request) // 2] if stage == 0 else request)
            if stage == 2:
                its.readline()
            its.close()
            leaver.close()
        if end is None:
            end, stream = connected()
        end.sendall(request)
        head, body = read_message(stream)
        session.answered(int(head.split(b" ", 2)[1]), body)
        with pulse.get_lock():
            pulse.value += 1
    end.close()
    done.wait()


# What is held


def held(pid, port):
    status = open(f"/proc/{pid}/status").read()
    number = lambda name: int(re.search(rf"^{name}:\s*(\d+)", status, re.M).group(1))
    sockets = 0
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        try:
            sockets += os.readlink(f"/proc/{pid}/fd/{descriptor}").startswith("socket:")
        except OSError:
            pass
    with socket.create_connection(("127.0.0.1", port)) as end, end.makefile("rb") as stream:
        end.sendall(b"GET /metrics HTTP/1.1\r\nhost: p\r\nconnection: close\r\n\r\n")
        metrics = read_message(stream)[1].decode()
        stream.read()  # until its end
    # This question is under way itself.
    under_way = int(re.search(r"^epitome_requests_in_flight (\d+)", metrics, re.M).group(1)) - 1
    failures = int(re.search(r"^epitome_keeper_failures_total (\d+)", metrics, re.M).group(1))
    return number("VmRSS") / 1024, number("RssAnon") / 1024, number("VmHWM") / 1024, sockets, number("Threads"), under_way, failures


def main():
    program = sys.argv[1]
    requests = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    sessions = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000
    # Whoever is told to end takes along what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    server_of_answers = multiprocessing.Process(target=upstream, args=(listener,), daemon=True)
    server_of_answers.start()
    folder = tempfile.TemporaryDirectory()
    log = open(f"{folder.name}/log", "wb")
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    database = f"{folder.name}/ledger.db"
    proxy = subprocess.Popen(
        [program, "serve", "--listen", "127.0.0.1:0", "--db", f"sqlite:{database}", "--anthropic-upstream", url],
        stdout=log, stderr=log, cwd=folder.name,
        env={name: value for name, value in os.environ.items() if not name.startswith("EPITOME")},
    )
    try:
        port = None
        while port is None:
            assert proxy.poll() is None, open(log.name).read()
            found = re.search(r"listening on \S*:(\d+)", open(log.name).read())
            port = int(found.group(1)) if found else None
            time.sleep(0.05)
        run(proxy.pid, port, requests, sessions, database)
        proxy.terminate()
        print(f"it ended with {proxy.wait(60)}")
    finally:
        proxy.kill()
        server_of_answers.terminate()


def run(pid, port, requests, sessions, database):
    pulse, done = multiprocessing.Value("q", 0), multiprocessing.Event()
    workers = [
        multiprocessing.Process(target=clients, args=(worker, port, sessions, requests, pulse, done), daemon=True)
        for worker in range(WORKERS)
    ]
    print("requests   seconds   RSS   anonymous   highest   sockets   threads   under way   failures   ledger")
    started, rows = time.monotonic(), []

    def row():
        rows.append((pulse.value, *held(pid, port)))
        count, resident, anonymous, highest, sockets, threads, under_way, failures = rows[-1]
        size = sum(os.path.getsize(database + end) for end in ("", "-wal") if os.path.exists(database + end))
        print(
            f"{count:8}   {time.monotonic() - started:7.0f}   {resident:3.0f}   {anonymous:9.0f}   {highest:7.0f}   {sockets:7}   {threads:7}   {under_way:9}   {failures:8}   {size >> 20:4} MB",
            flush=True,
        )

    row()
    for worker in workers:
        worker.start()
    step = requests // ROWS
    while pulse.value < requests:
        assert all(worker.exitcode is None for worker in workers), "a client failed"
        if pulse.value // step >= len(rows):
            row()
        time.sleep(0.2)
    done.set()
    for worker in workers:
        worker.join()
    row()
    # Connections to the upstream are kept for a minute, which is looked at once a minute.
    deadline = time.monotonic() + 150
    while held(pid, port)[3] > rows[0][4] and time.monotonic() < deadline:
        time.sleep(1)
    row()
    resident = [row[1] for row in rows[1:-1]]
    middle = len(resident) // 2
    before, after = max(resident[middle // 2 : middle]), max(resident[middle:])
    print(f"highest: {rows[-1][3]:.0f} MB (goal {GOAL}); second quarter {before:.0f} MB, second half {after:.0f} MB")
    print(f"left at the end: {rows[-1][4] - rows[0][4]} sockets, {rows[-1][6]} requests under way")


if __name__ == "__main__":
    main()
