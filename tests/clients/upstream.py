"""A provider on loopback that plays a story in three APIs, strictly: upstream.py STORY WINDOW [FOLDER]

The story is a module of this folder or of one in PYTHONPATH: its `play` says what the model does, `FAULTS` where the server fails once.

It listens twice, with a window of so many tokens (a quarter of the bytes of the request), and with one that holds everything,
and prints both addresses. GET /log?key=KEY tells what the client of this key did; bodies go to the folder, those that came to the large one apart.
"""

import gzip
import importlib
import json
import pathlib
import sys
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import story
import wires

LARGE = 10_000_000


class Upstream(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, played, window, folder=None):
        super().__init__(("127.0.0.1", 0), Answer)
        self.story = played
        self.window = window
        self.folder = folder
        self.log = defaultdict(list)
        self.failed = set()
        # What the server holds of threads: the request and its answer, by the answer's name.
        self.threads = {}
        self.lock = threading.Lock()

    def fails_now(self, key, last):
        """Whether the server fails at this point: once for each client."""
        with self.lock:
            due = last in self.story.FAULTS and (key, last) not in self.failed
            self.failed.add((key, last))
            return due

    def keep(self, key, raw):
        folder = self.folder / key
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{len(self.log[key]):03}.json").write_bytes(raw)


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Small events would otherwise wait for one another.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        address = urlsplit(self.path)
        if address.path == "/log":
            return self.json(200, self.server.log[parse_qs(address.query)["key"][0]])
        self.json(404, {"error": {"message": "no such path", "type": "invalid_request_error", "param": None, "code": None}})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        body = json.loads(raw)
        path = urlsplit(self.path).path
        key = self.headers.get("x-api-key") or (self.headers.get("authorization") or "").removeprefix("Bearer ")
        self.entry = {"path": path, "tokens": len(raw) // 4, "window": self.server.window, "status": 200, "why": None}
        self.server.log[key].append(self.entry)
        if self.server.folder:
            self.server.keep(key, raw)
        answer = {
            "/v1/messages": self.play_anthropic,
            "/v1/messages/count_tokens": self.play_count,
            "/v1/chat/completions": self.play_chat,
            "/v1/responses": self.play_responses,
        }.get(path)
        if not answer:
            return self.refuse(404, f"no such path: {path}")
        try:
            answer(body, key)
        except wires.Refused as refusal:
            self.refuse(400, str(refusal))
        except story.Missing as missing:
            self.refuse(400, f"forgotten: {missing}")

    def play_anthropic(self, body, key):
        threaded = body.get("thread")
        if threaded:
            body = self.threaded(body)
        told = wires.read_anthropic(body, self.headers)
        reply = self.play(body, key, told, (529, "overloaded_error"))
        if not reply:
            return
        if (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
            reply.thinking = wires.bound(body, len(body["messages"]))
        whole = wires.whole_anthropic(reply)
        if threaded:
            self.server.threads[whole["id"]] = {**body, "messages": [*body["messages"], {"role": "assistant", "content": whole["content"]}]}
        if body.get("stream"):
            events = wires.events_anthropic(reply)
            self.stream(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n" for kind, data in events)
        else:
            self.json(200, whole, {"request-id": reply.name("req")})

    def threaded(self, body):
        """A request of a thread together with what the server holds of it."""
        thread = body["thread"]
        if thread["type"] == "create":
            return body
        held = self.server.threads.get(thread["previous_message_id"])
        wires.require(held, "no such thread")
        return {**held, **body, "messages": [*held["messages"], *body["messages"]]}

    def play_count(self, body, _key):
        wires.read_anthropic(body, self.headers)
        self.json(200, {"input_tokens": self.entry["tokens"]})

    def play_chat(self, body, key):
        reply = self.play(body, key, wires.read_chat(body), (500, "server_error"))
        if not reply:
            return
        reply.usage_wanted = not body.get("stream") or (body.get("stream_options") or {}).get("include_usage")
        if body.get("stream"):
            self.stream([*(f"data: {json.dumps(chunk)}\n\n" for chunk in wires.events_chat(reply)), "data: [DONE]\n\n"])
        else:
            self.json(200, wires.whole_chat(reply), {"x-request-id": reply.name("req")})

    def play_responses(self, body, key):
        reply = self.play(body, key, wires.read_responses(body), (500, "server_error"))
        if not reply:
            return
        if body.get("stream"):
            events = enumerate(wires.events_responses(reply, body))
            self.stream(f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': at})}\n\n" for at, event in events)
        else:
            self.json(200, wires.whole_responses(reply, body), {"x-request-id": reply.name("req")})

    def play(self, body, key, told, failure):
        """What the model says; nothing where something else was answered."""
        if self.entry["tokens"] > self.server.window:
            return self.overflow()
        step = self.server.story.play(told, wires.tools(body))
        self.entry.update(at=step.at, cut=step.cut)
        if self.server.fails_now(key, step.at):
            status, kind = failure
            return self.refuse(status, "busy, as planned", kind, {"retry-after-ms": "5"})
        return wires.Reply(body["model"], step.text, step.calls, self.entry["tokens"])

    def overflow(self):
        tokens, window = self.entry["tokens"], self.server.window
        if self.entry["path"] == "/v1/messages":
            return self.refuse(400, f"prompt is too long: {tokens} tokens > {window} maximum")
        words = f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens."
        self.refuse(400, words, code="context_length_exceeded")

    def refuse(self, status, words, kind="invalid_request_error", headers=None, code=None):
        self.entry.update(status=status, why=words)
        if self.entry["path"].startswith("/v1/messages"):
            body = {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_refused"}
        else:
            body = {"error": {"message": words, "type": kind, "param": None, "code": code}}
        self.json(status, body, headers)

    def json(self, status, value, headers=None):
        body, headers = json.dumps(value).encode(), dict(headers or {})
        # Every other answer is compressed for those who take it.
        if "gzip" in self.headers.get("accept-encoding", "") and len(body) % 2:
            body, headers["content-encoding"] = gzip.compress(body), "gzip"
        self.send_response(status)
        for name, text in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            data = event.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")


def main():
    played, window = importlib.import_module(sys.argv[1]), int(sys.argv[2])
    folder = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    servers = [Upstream(played, window, folder), Upstream(played, LARGE, folder and folder / "large")]
    print(*(f"http://127.0.0.1:{server.server_address[1]}" for server in servers), flush=True)
    threads = [threading.Thread(target=server.serve_forever) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
