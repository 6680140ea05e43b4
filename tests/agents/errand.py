"""The errand that agents run with their own tools: read the files of a depot, keep a report of them, check it, and close it.

errand.py FOLDER makes the files. Where the errand stands follows from the ids of the newest calls alone, what is reported
from what the tools said. The model goes on only while the request still says what it was told before.
"""

import pathlib
import re
import sys

import wires
from hands import Hands
from story import Missing, Step

RULE = "Never touch anything in the folder vault, and sign the report with the code word HERON-4417."
LATER_RULE = "From now on, all amounts are in Swiss francs."
LAST = 30
PAUSE = 15
TASKS = [
    f"Take stock of the depot in the folder halls. {RULE} Read the halls one after the other, begin with hall 1, "
    f"keep report.md as you go, and check each entry. Stop after hall {PAUSE}.",
    f"{LATER_RULE} Go on, begin with hall {PAUSE + 1}, to the last, and close the report.",
]
# What single halls say and the closed report needs. The model notes it in passing, and not in a file.
FACTS = {
    2: "gate 2 opens with 55-KEPLER-301",
    8: "gate 8 opens with 71-KEPLER-902",
    14: "gate 14 opens with 26-KEPLER-175",
    19: "gate 19 opens with 83-KEPLER-440",
    26: "gate 26 opens with 38-KEPLER-617",
}
ROWS = 300
END = "(to be continued)"
OPENING = "I begin the report."
CLOSING = "The report is closed."
LINE = re.compile(r"Shelf \d+ of hall \d+ holds \d+ crates of [a-z ]+, counted by \w+\.")
# In this hall the model looks for a file that is not there; in every one of those it calls two tools at once.
ASTRAY = 6
PAIRED = 7
# The steps of a hall; the one before the first hall opens the report.
LOOK, NOTE, CHECK = 0, 1, 2
STEPS = 3 * LAST
# After these steps, the model's server fails once.
FAULTS = (16, 61)

GOODS = ["copper wire", "oak planks", "lamp oil", "salt", "rope", "window glass", "nails", "wool", "paper", "tar"]
CLERKS = ["Imre", "Odile", "Tomas", "Birgit", "Kenji", "Amara", "Luca"]


def place(hall):
    return f"halls/{hall:02}.txt"


def hall_text(hall):
    """A long file: an inventory, with a fact in the midst of some."""
    lines = [f"Inventory of hall {hall}, as counted in the spring."]
    for row in range(1, ROWS + 1):
        seed = hall * 7919 + row * 104729
        lines.append(f"Shelf {row} of hall {hall} holds {seed % 97} crates of {GOODS[seed % 10]}, counted by {CLERKS[seed % 7]}.")
        if row == ROWS // 3 and hall in FACTS:
            lines.append(f"Important: {FACTS[hall]}.")
    return "\n".join(lines) + "\n"


def play(told, tools):
    """What the model does next; calls for something else, such as a title or a memory, are none of the errand."""
    done = where(told)
    if not tools or done is None:
        return Step("Stock of the depot")
    # The hall that was just read is not noted yet, and its fact stands in what the tool said.
    known(told.text, (done + 2) // 3, done > 3 * PAUSE)
    hands, hall, kind = Hands(tools, told.text), done // 3 + 1, done % 3
    if not told.calls and hall == 1:
        return step(OPENING, 0, [hands.write("report.md", f"# Stock\n{END}\n")])
    if not told.calls:
        # Some agents edit only what was read since they were started.
        return step("First the report as it stands.", done, [hands.read("report.md")])
    if done == STEPS:
        return close(told, hands)
    if done == 3 * PAUSE and LATER_RULE not in told.text:
        return Step(f"The halls to {PAUSE} are in the report.", at=done)
    if kind == LOOK:
        second = [hands.shell(f"wc -l {place(hall)}")] if hall % PAIRED == 0 else []
        return step(f"Now hall {hall}.", done + 1, [hands.read(place(hall)), *second])
    if kind == NOTE:
        line, whole = entry(hall, told.calls[0].result)
        noted = f"Noted for the report: {FACTS[hall]}. " if hall in FACTS else ""
        deed = hands.edit("report.md", END, f"{line}\n{END}")
        return step(f"{noted}Hall {hall} goes into the report.", done + 1, [deed], [] if whole else [hall])
    command = f"cat shelves/{hall:02}.txt" if hall == ASTRAY else f"tail -n 2 report.md; grep -c crates {place(hall)}"
    return step(f"I check the entry of hall {hall}.", done + 1, [hands.shell(command)])


def step(text, number, deeds, cut=()):
    calls = [wires.Call(f"{number:03}x{index}", *deed) for index, deed in enumerate(deeds)]
    return Step(text, calls, number, list(cut))


def where(told):
    """How many steps are done: by the newest calls, or by what the user asks for, if it is the errand."""
    if told.calls:
        return int(told.calls[-1].id.split("x")[0])
    begin = re.search(r"begin with hall (\d+)", told.asked)
    return 3 * (int(begin.group(1)) - 1) if begin else None


def known(text, read, resumed):
    """Raises `Missing` unless all that was said until this hall was read is still there."""
    required = [RULE, *(FACTS[hall] for hall in FACTS if hall <= read)]
    if resumed:
        required.append(LATER_RULE)
    missing = [words for words in required if words not in text]
    if missing:
        raise Missing(f"after hall {read}, the request no longer says: {'; '.join(missing)}")


def close(told, hands):
    """The end of the report, once."""
    if "closed" in told.calls[-1].id:
        return Step(CLOSING, at=STEPS + 1)
    deed = hands.edit("report.md", END, last_lines(told.text))
    return Step("I close the report.", [wires.Call(f"{STEPS:03}xclosed", *deed)], STEPS)


def last_lines(text):
    """The end of the report, from what the request says alone."""
    gates = sorted(set(re.findall(r"gate \d+ opens with \d\d-KEPLER-\d+", text)))
    word = re.search(r"code word ([A-Z]+-\d+)", text).group(1)
    return "\n".join(["All amounts in Swiss francs.", *gates, f"Signed {word}."])


def entry(hall, text):
    """The line of the report on a hall, from what was read of it, and whether that was all of it."""
    counts = [int(count) for count in re.findall(rf"of hall {hall} holds (\d+) crates", text)]
    return f"hall {hall:02}: {sum(counts)} crates on {len(counts)} shelves", len(counts) == ROWS


def lost(text, answered):
    """What the text of a session does not hold, though the model was told of it at one of these steps."""
    calls = [number for number in answered if number <= STEPS and f"call_{number:03}x" not in text]
    if calls:
        yield f"calls are not in the ledger, of steps {calls}"
    # Whoever notes a hall was told of it.
    yield from halls_lost(text, [hall for hall in range(1, LAST + 1) if 3 * (hall - 1) + 2 in answered])


def halls_lost(text, read):
    lines = set(LINE.findall(text))
    missing = [hall for hall in read if not lines.issuperset(LINE.findall(hall_text(hall)))]
    if missing:
        yield f"what was read is not whole in the ledger, of halls {missing}"


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    (folder / "halls").mkdir(parents=True, exist_ok=True)
    for number in range(1, LAST + 1):
        (folder / place(number)).write_text(hall_text(number))
