"""What was said in a session, as its turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from skillopt_git.model import Turn


def turns(said: Iterable[Turn]) -> Iterator[Turn]:
    """What the user said, and between two such turns all that the assistant showed, as one."""
    for is_answer, run in groupby(said, key=lambda turn: turn.kind == "answer"):
        if is_answer:
            answers = list(run)
            yield replace(answers[0], text="\n\n".join(answer.text for answer in answers))
        else:
            yield from run
