"""The errand of `errand.py` for agents that give their model no tools: the user runs the commands and dictates, the model answers with edits.

Where it stands follows from the user's last words, what is reported from what the commands said.
"""

import re

import errand
from errand import CLOSING, END, FACTS, LAST, LATER_RULE, OPENING, PAUSE, RULE
from story import Missing, Step

STEPS = 2 * LAST
# After these steps, the model's server fails once.
FAULTS = (7, 44)
BEGIN = f"Take stock of the depot in the folder halls. {RULE} I read the halls to you one after the other. Begin report.md."
CLOSE = "Close the report."


def lines():
    """What the user types: commands, whose output goes into the conversation, and what is to be done about it."""
    yield BEGIN
    for hall in range(1, LAST + 1):
        yield f"/run cat {errand.place(hall)}"
        yield f"{LATER_RULE} Note hall {hall}." if hall == PAUSE + 1 else f"Note hall {hall}."
        yield f"/run tail -n 2 report.md; grep -c crates {errand.place(hall)}"
        yield f"Check hall {hall}."
    yield CLOSE


def play(told, _tools):
    """What the model says next."""
    if BEGIN in told.asked:
        return Step(f"{OPENING}\n{replacing('', f'# Stock{chr(10)}{END}')}", at=0)
    if CLOSE in told.asked:
        errand.known(told.text, LAST, True)
        return Step(f"{CLOSING}\n{replacing(END, errand.last_lines(told.text))}", at=STEPS + 1)
    order = re.search(r"(Note|Check) hall (\d+)\.", told.asked)
    if not order:
        raise Missing(f"the user's last message does not say what to do: {told.asked[:200]!r}")
    hall = int(order.group(2))
    errand.known(told.text, hall, hall > PAUSE)
    if order.group(1) == "Check":
        return Step(f"The entry of hall {hall} is right.", at=2 * hall)
    line, whole = errand.entry(hall, told.text)
    noted = f"Noted for the report: {FACTS[hall]}. " if hall in FACTS else ""
    text = f"{noted}Hall {hall} goes into the report.\n{replacing(END, f'{line}{chr(10)}{END}')}"
    return Step(text, at=2 * hall - 1, cut=[] if whole else [hall])


def replacing(old, new):
    """An edit in the form that the agent asks its model for."""
    before = f"{old}\n" if old else ""
    return f"\nreport.md\n```\n<<<<<<< SEARCH\n{before}=======\n{new}\n>>>>>>> REPLACE\n```\n"


def lost(text, answered):
    """What the text of a session does not hold, though the model was told of it at one of these steps."""
    orders = [hall for hall in range(1, LAST + 1) if 2 * hall in answered and f"The entry of hall {hall} is right." not in text]
    if orders:
        yield f"answers are not in the ledger, of halls {orders}"
    yield from errand.halls_lost(text, [hall for hall in range(1, LAST + 1) if 2 * hall - 1 in answered])
