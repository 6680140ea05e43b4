"""What a model can do with the tools that an agent offers it: run a command, read, write and edit files.

Tools are known by their names and fields as the request tells them, so that no agent is named here.
"""

import json
import re

import wires
from story import Missing

PATHS = ("path", "filePath", "file_path")
PATCH = "apply_patch"
# What the folder of the project is called, wherever it lies.
FOLDER = "depot-project"
PROJECT = re.compile(rf"/[^\s\"'<>`]+/{FOLDER}\b")


class Hands:
    """The tools of one request, and what it says. Each deed is the name of a tool and what it is given."""

    def __init__(self, tools, text):
        self.tools = tools
        self.text = text

    def named(self, *names):
        return next((name for name in self.tools if name.lower() in names), None)

    def given(self, name, values):
        """Fields of a call: those that are wanted, and nothing for those that must be there and may be empty."""
        fields = self.tools[name]
        empty = {key: None for key in fields.get("required") or [] if "null" in json.dumps(fields["properties"][key])}
        return name, {**empty, **values}

    def field(self, name, *choices):
        """Which of these fields a tool has."""
        found = next((choice for choice in choices if choice in self.tools[name]["properties"]), None)
        wires.require(found, f"the tool {name} has none of the fields {choices}")
        return found

    def place(self, name, path):
        """Where a tool finds a file: by its whole path, if it asks for that."""
        field = self.field(name, *PATHS)
        if "absolute" not in self.tools[name]["properties"][field].get("description", "").lower():
            return {field: path}
        project = PROJECT.search(self.text)
        if not project:
            raise Missing("the request no longer says where the project is")
        return {field: f"{project.group()}/{path}"}

    def shell(self, command):
        name = self.named("bash", "shell", "exec_command", "shell_command", "run_shell_command")
        wires.require(name, f"forgotten: a tool for commands; there are {list(self.tools)}")
        return self.given(name, {self.field(name, "command", "cmd"): command})

    def read(self, path):
        name = self.named("read", "read_file")
        return self.given(name, self.place(name, path)) if name else self.shell(f"cat {path}")

    def write(self, path, text):
        name = self.named("write", "write_file")
        if name:
            return self.given(name, {**self.place(name, path), self.field(name, "content"): text})
        added = "".join(f"+{line}\n" for line in text.splitlines())
        return self.patch(f"*** Add File: {path}\n{added}")

    def edit(self, path, old, new):
        name = self.named("edit")
        if not name:
            lines = [f"-{line}\n" for line in old.splitlines()] + [f"+{line}\n" for line in new.splitlines()]
            return self.patch(f"*** Update File: {path}\n@@\n{''.join(lines)}")
        place = self.place(name, path)
        if "edits" in self.tools[name]["properties"]:
            return self.given(name, {**place, "edits": [{"oldText": old, "newText": new}]})
        before, after = self.field(name, "oldString", "old_string"), self.field(name, "newString", "new_string")
        return self.given(name, {**place, before: old, after: new})

    def patch(self, changes):
        wires.require(PATCH in self.tools, f"forgotten: a tool for files; there are {list(self.tools)}")
        patch = f"*** Begin Patch\n{changes}*** End Patch\n"
        if self.tools[PATCH] is None:
            return PATCH, patch
        return PATCH, {self.field(PATCH, "patchText", "input"): patch}
