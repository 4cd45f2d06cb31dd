"""The running account of one night: what was tried in which document, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from skillopt_git import lessons
from skillopt_git.config import Config
from skillopt_git.consolidate import Bench
from skillopt_git.controls import Controls
from skillopt_git.documents import Documents, existing, with_accepted
from skillopt_git.doors import lasting
from skillopt_git.dream import dream, is_variant
from skillopt_git.errors import BudgetSpent, MeasurementInvalid
from skillopt_git.guidance import due, guide
from skillopt_git.judges import judgeable
from skillopt_git.languages import Reader
from skillopt_git.learned import Known, Learned, Models, Teachable
from skillopt_git.lessons import Attempts, Lessons
from skillopt_git.means import Means
from skillopt_git.merging import Offer, in_words, merged, tryouts
from skillopt_git.mine import wordings
from skillopt_git.model import Candidate, Document, Edit, Evidence, Need, Reason, Split, Task
from skillopt_git.pairing import mark
from skillopt_git.ports import CallFailed, Gated, Listener
from skillopt_git.recall import History, told_refusals
from skillopt_git.reflection import Reflection, reflect
from skillopt_git.replay import NONE_USED, Rollout, Round, raise_dead, raise_spent, replay
from skillopt_git.routing import Routing
from skillopt_git.rulings import OnTrial
from skillopt_git.sieve import Sieve, proposable
from skillopt_git.training import Group, Training, Tryout, chosen
from skillopt_git.trials import Trials
from skillopt_git.used import Used

SETTLED = frozenset({"strong", "ungated", "suggestive", "unverified", "invalid"})


@dataclass(slots=True)
class Night:
    """The running account of one night's learning, from which `Learned` is made."""

    teachable: Teachable
    history: History
    night: str
    known: Known
    config: Config
    models: Models
    tasks: tuple[Task, ...]
    notify: Listener
    reader: Reader
    evidence_of: Callable[[str], Evidence | None]
    now: datetime
    used: Used = NONE_USED
    candidates: list[Candidate] = field(default_factory=list)
    unmatched: list[tuple[Edit, str]] = field(default_factory=list)
    suppressed: list[tuple[Edit, str]] = field(default_factory=list)
    linted: list[tuple[Edit, str]] = field(default_factory=list)
    reflections: list[Reflection] = field(default_factory=list)
    failures: list[CallFailed] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rollouts: list[Rollout] = field(default_factory=list)
    replayed: dict[str, Task] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)  # needs whose turn comes on another night
    on_trial: list[OnTrial] = field(default_factory=list)  # on no branch: other edits for their wishes wait
    compared: int = 0  # candidates measured by pairs, those of earlier nights aside
    cut: bool = False  # the budget ended the night
    unfinished: set[str] = field(default_factory=set)  # needs that the budget left for another night

    def learned(self, start: Learned, needs: Sequence[Need]) -> Learned:
        base = existing(self._documents)
        train = [task for task in self._in("train") if any(need.id in task.needs for need in needs)]
        try:
            self._go_on(base)
            if train:
                self._learn(needs, base)
        except BudgetSpent as spent:
            self._end(spent, needs)
        if not (train or self.candidates or self.cut):
            return replace(start, reason="no_train")
        return self._finished(start, base)

    def _learn(self, needs: Sequence[Need], base: Documents) -> None:
        plan = Routing(self.teachable, self.used, self.known.tasks, self.reader.grammars).plan(needs, self.notes)
        for document, own in plan.own:
            self._teach(document, own, base)
        self._teach(plan.skill, plan.first, base)
        self._teach(plan.memory, [*plan.later, *self._left(plan.tried)], with_accepted(base, self.candidates))
        self._guide([item for item in (plan.skill, plan.memory) if item is not None], base)

    def _end(self, spent: BudgetSpent, needs: Sequence[Need]) -> None:
        """Nothing new begins. A trial that was under way counts for nothing tonight; what was answered is remembered,
        so that the next night goes on from there."""
        self.cut = True
        self.failures = [item for item in self.failures if item.kind != "budget"]
        settled = {edit.need for item in self.candidates for edit in item.edits}
        settled |= {edit.need for edit, _ in (*self.suppressed, *self.unmatched, *self.linted)}
        left = [need for need in needs if need.id not in settled]
        self.unfinished.update(need.id for need in left)
        waits = f"; left for another night: {', '.join(repr(need.text) for need in left)}" if left else ""
        self.notes.append(
            f"the budget ended the night, and what was begun goes on with the next: {spent.message}{waits}"
        )

    @property
    def _tonight(self) -> str:
        """What begins the samples that last until this night is recorded."""
        return lasting(self.history.nights)

    @property
    def _documents(self) -> tuple[Document, ...]:
        shared = tuple(item for item in (self.teachable.skill, self.teachable.memory) if item is not None)
        return (*shared, *self.used.documents)

    # --- trials of earlier nights ---

    def _go_on(self, base: Documents) -> None:
        """What is on trial is measured further, with pairs of its own, before anything new is tried."""
        for candidate in self._gate(base).further(self.notes, self.on_trial):
            self._tried(candidate)

    def _gate(self, base: Documents) -> Trials:
        return Trials(
            history=self.history,
            documents=self._documents,
            base=base,
            golden=self._golden(),
            needs=lambda name: Need(id=name, text=self.known.needs[name]) if name in self.known.needs else None,
            held_out=lambda need: self._held_out(need, ()),
            evidence_of=self.evidence_of,
            bench=self._bench(),
        )

    def _tried(self, candidate: Candidate) -> None:
        self.candidates.append(replace(candidate, families=tuple(sorted(self._sieve.families(candidate.edits[0])))))
        for edit in candidate.edits:
            self.notify(Gated(candidate.document.path, edit.sentence, candidate.verdict))

    def _in(self, split: Split) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks if task.split == split)

    def _left(self, needs: Sequence[Need]) -> list[Need]:
        """Needs of the skills' phase that the memory may still answer: tried there, and of no use.

        What memory holds back, what waits for the budget, for held-out tasks or for a better measurement, and what
        may turn out to help, would be the same rule in two documents.
        """
        settled = {edit.need for edit, _ in self.suppressed} | self.waiting
        for candidate in self.candidates:
            if candidate.verdict in SETTLED:
                settled.update(edit.need for edit in candidate.edits)
        return [need for need in needs if need.id not in settled]

    # --- one document ---

    def _teach(self, document: Document | None, needs: Sequence[Need], documents: Documents) -> None:
        if document is None or not needs:
            return
        practised = self._practised(needs, documents)
        offers: list[Offer] = []
        for need in sorted(needs, key=lambda item: (-self.known.sessions(item.id), item.id)):
            told = lessons.lessons(need, practised)
            if not told.failing or not self._room(need, sum(len(item.edits) for item in offers)):
                continue
            if not self._sieve.suppresses(Edit(op="add", target=document.path, text=need.text, need=need.id), document):
                offers += self._answer(need, told, document, documents)
        queue = [item for offer in self._merged(offers, document) for item in tryouts(offer)]
        first, rest = chosen(queue, self.config.gate.candidates - self.compared)
        self.compared += len(first)
        for item in first:
            self._try(item)
        for item in rest:
            self.waiting.add(item.need.id)
            rules = " and ".join(f"'{edit.sentence}'" for edit in item.group.edits)
            self.notes.append(f"{rules} waits for another night: this one has measured what `gate.candidates` allows")

    def _room(self, need: Need, more: int = 0) -> bool:
        """Whether the edit budget has room for one beside so many more; a need that has to wait is noted once."""
        room = len(proposable(self.candidates)) + more < self.config.propose.edit_budget
        if not room and need.id not in self.waiting:
            self.waiting.add(need.id)
            self.notes.append(f"the edit budget is used up: what is left of '{need.text}' waits for another night")
        return room

    def _bench(self) -> Bench:
        return Bench(
            target=self.models.target,
            optimizer=self.models.optimizer,
            judge=self.models.judge,
            replay=self._replay,
            gate=self.config.gate,
            night=self.night,
            tonight=self._tonight,
            preferences=self.config.propose.preferences,
            prompts=self.models.prompts,
            notify=self.notify,
            refused=told_refusals(self.history),
            used=self.used,
        )

    def _practised(self, needs: Sequence[Need], documents: Documents) -> tuple[Attempts, ...]:
        """The training tasks of these needs, with their answers."""
        wanted = {need.id for need in needs}
        train = [task for task in self._in("train") if wanted & set(task.needs)]
        found = lessons.attempts(train, documents, self._bench(), self.config.replay.dream_rollouts) if train else ()
        if found and not self.candidates and not any(item.rollouts for item in found):
            first = next((f"; the first said: {item.message}" for item in self.failures), "")
            raise MeasurementInvalid(f"no training task could be measured: {self._failed()}{first}")
        return found

    def _replay(self, rounds: Sequence[Round]) -> tuple[tuple[Rollout, ...], ...]:
        found = replay(
            rounds,
            target=self.models.target,
            judge=self.models.judge,
            notify=self.notify,
            used=self.used,
            tonight=self._tonight,
        )
        rollouts = [item for same in found for item in same]
        self.replayed.update({item.task.id: item.task for item in rollouts if not is_variant(item.task)})
        self.rollouts.extend(rollouts)
        failed = [item.failure for item in rollouts if item.failure is not None]
        raise_spent(failed)
        self.failures.extend(failed)
        if len(failed) == len(rollouts):
            self._raise_dead(failed)
        return found

    def _failed(self) -> str:
        """The failures so far by kind, the most frequent first."""
        return ", ".join(
            f"{kind} ({count})" for kind, count in Counter(item.kind for item in self.failures).most_common()
        )

    def _answer(self, need: Need, told: Lessons, document: Document, documents: Documents) -> list[Offer]:
        """Tries what is proposed for a need; gives back what is measured by pairs, for that is done to few a night."""
        told, variants = self._more(need, told, documents)
        bench = self._bench()
        reflection = reflect(need, told, document, bench=bench)
        self.reflections.append(reflection)
        self._note_failed(reflection.failure)
        most = self.config.propose.edit_budget  # where less room is left, what belongs together waits as a whole
        fit = self._sieve.fitting(reflection.edits, document, lambda at: self._room(need, most if at == most else 0))
        train = [task for task in self._in("train") if need.id in task.needs]
        training = Training((*train, *variants), document, documents, bench)
        marks = frozenset(map(mark, self._told(need, told.tasks)))
        offer = Offer(need, fit, self._held_out(need, told.tasks), training, marks)
        if bench.by_pairs([*offer.held_out, *self._golden()]):
            return [offer]
        for item in tryouts(offer):
            self._try(item)
        return []

    def _more(self, need: Need, told: Lessons, documents: Documents) -> tuple[Lessons, tuple[Task, ...]]:
        """With what earlier nights asked like it, and what is dreamt of it; and the variants, to train on."""
        asked = self.config.replay
        known = [task for task in self.known.tasks if task.id not in self.known.withheld]
        others = [task for task in known if need.id not in task.needs or task not in self.tasks]
        told = replace(told, alike=lessons.alike([item.task for item in told.failing], others, asked.recall_k))
        dreamt = dream([item.task for item in told.failing], need, asked.dream_factor, self._bench())
        for failure in dreamt.failures:
            self._note_failed(failure)
        if not dreamt.variants:
            return told, ()
        practised = lessons.attempts(dreamt.variants, documents, self._bench())
        failing = lessons.lessons(need, practised).failing
        return replace(told, failing=(*told.failing, *failing)), dreamt.variants

    def _note_failed(self, failure: CallFailed | None) -> None:
        if failure is not None:
            self.failures.append(failure)
            self._raise_dead([failure])

    def _raise_dead(self, failures: Sequence[CallFailed]) -> None:
        """With a sample of its own: what a model said of its health before is remembered."""
        raise_dead(failures, lambda: self.models.health(f"{self.night}/probe/{len(self.failures)}"))

    def _merged(self, offers: Sequence[Offer], document: Document) -> Sequence[Offer]:
        """What several needs' edits come to, within the edit budget."""
        room = self.config.propose.edit_budget - len(proposable(self.candidates))
        found = merged(offers, document, room, lambda edit: self._sieve.fits(edit, document, ()), self._bench())
        self._note_failed(found.failure)
        waits = [*found.late, *(edit for edit, _ in found.joined)]
        self.waiting.update({edit.need for edit in waits if edit.need} - {item.need.id for item in found.offers})
        self.notes += [f"the edit budget is used up: '{edit.sentence}' waits for another night" for edit in found.late]
        self.notes += [in_words(edit, kept) for edit, kept in found.joined]
        return found.offers

    def _held_out(self, need: Need | None, shown: Sequence[Task]) -> tuple[Task, ...]:
        """The val tasks, without those of a session whose words the optimizer saw or the need is worded in."""
        told = self._told(need, shown)
        return tuple(task for task in self._in("val") if not told & set(task.sessions))

    def _told(self, need: Need | None, shown: Sequence[Task]) -> set[str]:
        """The sessions of the tasks that were shown, and of those that word the need."""
        worded = wordings(self.known.bank.sightings).get(need.id, {}) if need is not None else {}
        same = [task for task in self.known.tasks if need is not None and worded.get(task.id) == need.text]
        wording = [task for task in same if task.split == "train"] or same
        return {session for task in (*wording, *shown) for session in task.sessions}

    def _golden(self) -> tuple[Task, ...]:
        """The tasks that veto, of every need and split, also those that `mine.max_tasks` leaves out otherwise."""
        left_out = self.known.withheld | self.models.skipped.keys()
        golden = (task for task in self.known.tasks if task.golden and not task.personal and judgeable(task))
        return tuple(task for task in golden if task.id not in left_out)

    @property
    def _sieve(self) -> Sieve:
        return Sieve(
            history=self.history,
            model=self.models.target.model,
            tasks=self.known.tasks,
            candidates=self.candidates,
            on_trial=self.on_trial,
            unmatched=self.unmatched,
            suppressed=self.suppressed,
            linted=self.linted,
        )

    def _try(self, item: Tryout) -> None:
        """Unless what was accepted meanwhile leaves no room or place for it."""
        if not self._room(item.need, len(item.group.edits) - 1):
            return
        clashes = [(edit, why) for edit in item.group.edits if (why := self._sieve.clash(edit, item.training.document))]
        self.unmatched.extend(clashes)
        if not clashes:
            self._tried(self._gate(item.training.documents).begun(item, self.notes))

    def _guide(self, documents: Sequence[Document], base: Documents) -> None:
        """Once in so many nights, guidance from the outcomes of the last ones: judged like a rule, by every task."""
        for document in documents if due(self.history, self.config.replay.slow_update) else ():
            about = Need(id="", text=f"the guidance of {document.path}")
            if not self._room(about):
                return
            guided = guide(document, self.history, self.evidence_of, self._bench())
            self._note_failed(guided.failure)
            self.notes += [guided.note] if guided.note else []
            if guided.edit is not None and self._sieve.fits(guided.edit, document, ()):
                training = Training((), document, base, self._bench())
                self._try(Tryout(about, Group((guided.edit,)), self._in("val"), training))

    # --- the end ---

    def _finished(self, start: Learned, base: Documents) -> Learned:
        means = Means(self.config.gate, self._replay, self.candidates, base, self._tonight, self.notes)
        baseline, candidate = means.held_out(self._in("val"))
        means.test(self._in("test"))
        controls = Controls(self._in("val"), self._golden(), self._documents, base, self.history, self._bench())
        measured = tuple(controls.measured(self.now, self.notes))
        if self.failures:
            self.notes.append(f"calls that failed, which count for nothing: {self._failed()}")
        return replace(
            start,
            reason=self._reason(),
            candidates=tuple(self.candidates),
            unmatched=tuple(self.unmatched),
            suppressed=tuple(self.suppressed),
            linted=tuple(self.linted),
            reflections=tuple(self.reflections),
            failures=(*start.failures, *self.failures),
            replayed=tuple(self.replayed.values()),
            baseline=baseline,
            candidate=candidate,
            rollouts=tuple(self.rollouts),
            controls=measured,
            unfinished=frozenset(self.unfinished),
            postponed=frozenset(self.waiting),
            notes=(*start.notes, *self.notes),
        )

    def _reason(self) -> Reason:
        if any(item.accepted for item in self.candidates):
            return "improved"
        if self.cut:
            return "budget"
        if self.candidates:
            unjudged = all(item.verdict == "unverified" for item in self.candidates)
            return "no_heldout" if unjudged else "gate"
        if self.reflections and all(item.failure is not None for item in self.reflections):
            return "optimizer_failed"
        if self.waiting and not self.reflections:
            return "budget"
        return "all_suppressed" if self.suppressed else "no_edits"
