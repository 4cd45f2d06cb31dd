"""What somebody who only looks finds: in words, with what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from skillopt_git.errors import SkilloptError

_NAME = re.compile(r"\S*\w[._]\w")


@dataclass(frozen=True, slots=True)
class Finding:
    """What wants attention, and what to do about it. A `fault` is in the way of the next run."""

    what: str
    remedy: str = ""
    fault: bool = False

    @property
    def text(self) -> str:
        return f"{self.what}: {self.remedy}" if self.remedy else self.what

    @property
    def sentence(self) -> str:
        """A name that it begins with, of a setting or a file, stays as it is written."""
        text = self.text
        named = _NAME.match(text) is not None
        return (text if named else f"{text[0].upper()}{text[1:]}") + ("" if text.endswith(".") else ".")


@dataclass(slots=True)
class Findings:
    """Each once, in the order they were met."""

    told: dict[Finding, None] = field(default_factory=dict)

    def add(self, *findings: Finding) -> None:
        self.told.update(dict.fromkeys(findings))

    def fault(self, error: SkilloptError) -> None:
        self.add(fault(error))


def fault(error: SkilloptError) -> Finding:
    """An error that the next run would end with."""
    return Finding(one_line(error), error.hint, fault=True)


def one_line(error: SkilloptError) -> str:
    return error.message.replace(":\n  ", ": ").replace("\n  ", "; ")
