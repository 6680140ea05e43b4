"""The task that the scripted model plays: what it says next, what it must still know by then, and the files it reads.

Everything follows from the request alone, so that a retry, or another client at the same time, changes nothing.
"""

import pathlib
import re
import sys
from dataclasses import dataclass, field

import wires

SYSTEM = "You are the clerk of a depot and read its files with read_file."
RULE = "Never write outside /srv/depot, and sign every report with the code word HERON-4417."
LATER_RULE = "From now on, all amounts are in Swiss francs."
HALF = f"Take stock of the depot. {RULE} Read the files one after the other, from file 1 on. Stop after file 14."
REST = f"{LATER_RULE} Go on with file 15, to the last, and write the report."
WHOLE = f"Take stock of the depot. {RULE} {LATER_RULE} Read the files one after the other, from file 1 to the last, then write the report."

LAST = 28
PAUSE = 14
TOOL = "read_file"
DESCRIPTION = "Reads one file of the depot."
PARAMETERS = {
    "type": "object",
    "properties": {"number": {"type": "integer", "description": "which file"}},
    "required": ["number"],
    "additionalProperties": False,
}
# What single files say and the report needs; the model notes it as soon as it has read it.
FACTS = {3: "gate 3 opens with 55-KEPLER-301", 9: "gate 9 opens with 71-KEPLER-902", 17: "gate 17 opens with 26-KEPLER-175"}
# After these files, the model's server fails once.
FAULTS = (7, 22)

GOODS = ["copper wire", "oak planks", "lamp oil", "salt", "rope", "window glass", "nails", "wool", "paper", "tar"]
CLERKS = ["Imre", "Odile", "Tomas", "Birgit", "Kenji", "Amara", "Luca"]


def file_text(number):
    """A long file: an inventory, with a fact in the midst of some."""
    lines = [f"Inventory of hall {number}, as counted in the spring."]
    for row in range(1, 126):
        seed = number * 7919 + row * 104729
        lines.append(
            f"Shelf {row} of hall {number} holds {seed % 97} crates of {GOODS[seed % 10]}, counted by {CLERKS[seed % 7]}."
        )
        if row == 40 and number in FACTS:
            lines.append(f"Important: {FACTS[number]}.")
    return "\n".join(lines)


class Missing(Exception):
    """Something that the model was told is no longer in the request."""


@dataclass
class Step:
    """What the model says and calls now, at which point of the story; what of the newest results was cut before it saw them."""

    text: str
    calls: list = field(default_factory=list)
    at: int | None = None
    cut: list = field(default_factory=list)


def play(told, tools):
    """What the model does, as far as it was told, with these tools."""
    wires.require(TOOL in tools, f"forgotten: the tool {TOOL}")
    read = [call.given["number"] for call in told.calls]
    text, numbers, last = next_step(told.text, read, told.asked)
    # What the model asked for a moment ago it has not seen yet.
    cut = [number for number in read if file_text(number) not in told.text]
    return Step(text, [wires.Call(f"{number:02}", TOOL, {"number": number}) for number in numbers], last, cut)


def known(text, read):
    """Raises `Missing` unless all that was said until the last file that was read is still there."""
    required = [SYSTEM, RULE]
    required += [FACTS[number] for number in FACTS if number <= read]
    if read > PAUSE:
        required.append(LATER_RULE)
    missing = [words for words in required if words not in text]
    if missing:
        raise Missing(f"after file {read}, the request no longer says: {'; '.join(missing)}")


def next_step(text, read, asked):
    """What the model says, and which files it reads now: after those in `read`, or as the user `asked`."""
    if read:
        last = max(read)
        noted = "".join(f"Noted for the report: {FACTS[number]}. " for number in read if number in FACTS)
    else:
        begin = re.search(r"(?:from|with) file (\d+)", asked)
        if not begin:
            raise Missing(f"the user's last message does not say where to begin: {asked[:200]!r}")
        last, noted = int(begin.group(1)) - 1, ""
    known(text, last)
    end = LAST
    if last <= PAUSE and "Stop after file 14" in text and LATER_RULE not in text:
        end = PAUSE
    if last < end:
        numbers = [last + 1] if last % 5 or last + 2 > end or not last else [last + 1, last + 2]
        return f"{noted}Now file {' and '.join(map(str, numbers))}.", numbers, last
    if end == PAUSE:
        return f"{noted}The files to {PAUSE} are read.", [], last
    return noted + report(text), [], last


def report(text):
    """The report, from what the request says alone."""
    gates = sorted(set(re.findall(r"gate \d+ opens with \d\d-KEPLER-\d+", text)))
    word = re.search(r"code word ([A-Z]+-\d+)", text).group(1)
    return f"Report, in Swiss francs: {'; '.join(gates)}. Signed {word}."


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, LAST + 1):
        (folder / f"{number}.txt").write_text(file_text(number))
