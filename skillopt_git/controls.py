"""Two controls of the gate itself: an edit that says nothing must not be proven, and a rule known to help must be.

Each goes the whole way of a trial, with rollouts of its own, and nobody adopts what comes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

from skillopt_git import edits, pairing
from skillopt_git.consolidate import Bench
from skillopt_git.documents import Documents, under
from skillopt_git.errors import BackendError, MeasurementInvalid
from skillopt_git.ids import digest
from skillopt_git.model import Document, Edit, Evidence, Task
from skillopt_git.recall import History

ControlKind = Literal["null", "known"]
NOTHING = "\n<!-- -->\n"  # what the edit that says nothing writes: another text, and no other meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What the gate found of one. `edit` is the known rule that was taken out; None for the edit that says nothing."""

    kind: ControlKind
    need: str
    edit: str | None
    why: str
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Controls:
    """What a control is measured with: tonight's held-out and golden tasks, the documents, and what was before."""

    held_out: Sequence[Task]
    golden: Sequence[Task]
    documents: Sequence[Document]
    base: Documents
    history: History
    bench: Bench

    def measured(self, now: datetime, notes: list[str]) -> Iterator[Control]:
        """Each control that is due and has something to be measured with. A failure costs nothing but this."""
        try:
            for kind, possible in (("null", self._null()), ("known", self._known())):
                if due(kind, self.history, now, self.bench.gate.aa_control):
                    yield from islice(possible, 1)
        except (BackendError, MeasurementInvalid) as error:
            notes.append(f"a control of the gate was not measured: {error.message}")

    def _null(self) -> Iterator[Control]:
        """In a document that exists, if one does; for each need in turn that has tasks enough for a strong verdict."""
        counts = Counter(need for task in self.held_out for need in task.needs)
        usual = [need for need in counts if counts[need] >= self.bench.gate.strong_tasks]
        had = self._had("need")
        read_by_all = [item for item in self.documents if item.path not in self.bench.used.paths]
        for document in sorted(read_by_all, key=lambda item: item.blob is None)[:1]:
            for need in sorted(usual, key=lambda name: (had[name], -counts[name], name)):
                taught = under(self.base, document, document.text + NOTHING)
                yield from self._control("null", need, document, (self.base, taught), None)

    def _known(self) -> Iterator[Control]:
        """Adopted rules that were strong and stand as they were adopted, each in turn: one arm has it taken out."""
        had = self._had("edit")
        strong = [
            item
            for item in self.history.adopted
            if item.verdict == "strong" and item.event.simulated == self.history.simulated and item.edit.text
        ]
        for item in sorted(strong, key=lambda item: (had[item.edit.id], item.edit.id)):
            for document in self.documents:
                sentence = item.edit.sentence
                if document.path == item.edit.target and sentence in edits.rules(document.text):
                    removal = Edit(op="delete", target=document.path, anchor=sentence, need=item.edit.need)
                    without = under(self.base, document, edits.apply(document.text, [removal]).text)
                    yield from self._control("known", item.edit.need or "", document, (without, self.base), item.edit)

    def _had(self, name: str) -> Mapping[str, int]:
        """How often each has had its turn."""
        return Counter(str(event.data.get(name)) for event in self.history.controls)

    def _control(
        self, kind: ControlKind, need: str, document: Document, arms: tuple[Documents, Documents], edit: Edit | None
    ) -> Iterator[Control]:
        tasks = [*self.held_out, *self.golden]
        if not any(need in task.needs for task in self.held_out) or not self.bench.by_pairs(tasks):
            return
        about = edit.id if edit else None
        name = f"x1-{digest('control', kind, document.path, document.blob, need, about, self.bench.tonight)}"
        subject = pairing.Subject(need=need, edits=(about,) if about else ())
        guard = (self.held_out, self.golden, self.history.guarded)
        evidence, why = pairing.control(name, subject, document, arms, *guard, bench=self.bench)
        if evidence.verdict == "invalid":
            raise MeasurementInvalid(why)
        yield Control(kind=kind, need=need, edit=about, why=why, evidence=evidence)


def due(kind: str, history: History, now: datetime, days: int) -> bool:
    """Whether `days` have passed since the last control of its kind, or since the first night; never with 0."""
    own = [event.ts for event in history.controls if event.data.get("control") == kind]
    since = max(own, default=min((event.ts for event in history.runs), default=None))
    return days > 0 and since is not None and now - datetime.fromisoformat(since) >= timedelta(days=days)
