"""The running account of one night: what was tried in which document, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from skillopt_git import consolidate, edits, gate
from skillopt_git.config import Config
from skillopt_git.consolidate import Bench, Reflection
from skillopt_git.controls import Controls
from skillopt_git.documents import Documents, existing, with_accepted
from skillopt_git.errors import MeasurementInvalid
from skillopt_git.judges import judgeable
from skillopt_git.languages import Reader
from skillopt_git.learned import Known, Learned, Models, Teachable
from skillopt_git.mine import wordings
from skillopt_git.model import Candidate, Document, Edit, Evidence, Need, Reason, Split, Task
from skillopt_git.ports import CallFailed, Gated, Listener
from skillopt_git.recall import History, held_back, repeats, told_refusals
from skillopt_git.replay import NONE_USED, Rollout, raise_dead, replay
from skillopt_git.routing import Routing
from skillopt_git.rulings import OnTrial
from skillopt_git.training import Training, Tryout, chosen
from skillopt_git.trials import Trials, on_trial_already
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

    def learned(self, start: Learned, needs: Sequence[Need]) -> Learned:
        base = existing(self._documents)
        self._go_on(base)
        train = [task for task in self._in("train") if any(need.id in task.needs for need in needs)]
        if not train:
            return self._finished(start, base) if self.candidates else replace(start, reason="no_train")
        plan = Routing(self.teachable, self.used, self.known.tasks, self.reader.grammars).plan(needs, self.notes)
        for document, own in plan.own:
            self._teach(document, own, base)
        self._teach(plan.skill, plan.first, base)
        self._teach(plan.memory, [*plan.later, *self._left(plan.tried)], with_accepted(base, self.candidates))
        return self._finished(start, base)

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
        self.candidates.append(replace(candidate, families=tuple(sorted(self._families(candidate.edits[0])))))
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
        failing = self._failing(needs, documents)
        queue: list[Tryout] = []
        for need in sorted(needs, key=lambda item: (-self.known.sessions(item.id), item.id)):
            if not failing.get(need.id) or not self._room(need, sum(len(item.group.edits) for item in queue)):
                continue
            if not self._suppress(Edit(op="add", target=document.path, text=need.text, need=need.id), document):
                queue += self._answer(need, failing[need.id], document, documents)
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
        room = len(self._proposable()) + more < self.config.propose.edit_budget
        if not room and need.id not in self.waiting:
            self.waiting.add(need.id)
            self.notes.append(f"the edit budget is used up: what is left of '{need.text}' waits for another night")
        return room

    def _proposable(self) -> list[Edit]:
        """Tonight's edits that may go on a branch: proven, or as a draft."""
        return [
            edit
            for item in self.candidates
            if (item.accepted or item.verdict == "suggestive") and not item.drafted
            for edit in item.edits
        ]

    def _bench(self) -> Bench:
        return Bench(
            target=self.models.target,
            optimizer=self.models.optimizer,
            judge=self.models.judge,
            replay=self._replay,
            gate=self.config.gate,
            night=self.night,
            preferences=self.config.propose.preferences,
            prompts=self.models.prompts,
            notify=self.notify,
            refused=told_refusals(self.history),
            used=self.used,
        )

    def _failing(self, needs: Sequence[Need], documents: Documents) -> dict[str, list[Rollout]]:
        """By need, the training tasks that do not fully pass."""
        wanted = {need.id for need in needs}
        rollouts = self._replay([task for task in self._in("train") if wanted & set(task.needs)], documents)
        if rollouts and not self.candidates and all(item.score is None for item in rollouts):
            raise MeasurementInvalid(f"no training task could be measured: {self._failed()}")
        failing: dict[str, list[Rollout]] = {}
        for item in rollouts:
            if item.score is not None and gate.metric(item.score, self.config.gate) < 1:
                for need in wanted & set(item.task.needs):
                    failing.setdefault(need, []).append(item)
        return failing

    def _replay(self, tasks: Sequence[Task], documents: Documents, sample: str = "") -> tuple[Rollout, ...]:
        models = self.models
        rollouts = replay(
            tasks,
            documents,
            target=models.target,
            judge=models.judge,
            sample=sample,
            notify=self.notify,
            used=self.used,
        )
        self.replayed.update({task.id: task for task in tasks})
        self.rollouts.extend(rollouts)
        failed = [item.failure for item in rollouts if item.failure is not None]
        self.failures.extend(failed)
        if len(failed) == len(rollouts):
            raise_dead(failed)
        return rollouts

    def _failed(self) -> str:
        """The failures so far by kind, the most frequent first."""
        return ", ".join(
            f"{kind} ({count})" for kind, count in Counter(item.kind for item in self.failures).most_common()
        )

    def _answer(self, need: Need, failing: Sequence[Rollout], document: Document, documents: Documents) -> list[Tryout]:
        """Tries what is proposed for a need; gives back what is measured by pairs, for that is done to few a night."""
        shown = failing[: consolidate.SHOWN_TASKS]
        reflection = consolidate.reflect(need, shown, document, bench=self._bench())
        self.reflections.append(reflection)
        if reflection.failure is not None:
            self.failures.append(reflection.failure)
            raise_dead([reflection.failure])
        fit: list[Edit] = []
        for edit in reflection.edits:
            if self._room(need) and self._fit(edit, document, fit):
                fit.append(edit)
        train = [task for task in self._in("train") if need.id in task.needs]
        held_out, bench = self._held_out(need, shown), self._bench()
        training = Training(train, document, documents, bench)
        groups = [Tryout(need, group, held_out, training) for group in training.groups(fit)]
        if bench.by_pairs([*held_out, *self._golden()]):
            return groups
        for item in groups:
            self._try(item)
        return []

    def _held_out(self, need: Need, shown: Sequence[Rollout]) -> tuple[Task, ...]:
        """The val tasks, without those of a session whose words the optimizer saw or the need is worded in."""
        worded = wordings(self.known.bank.sightings).get(need.id, {})
        same = [task for task in self.known.tasks if worded.get(task.id) == need.text]
        wording = [task for task in same if task.split == "train"] or same
        told = {session for task in (*wording, *(item.task for item in shown)) for session in task.sessions}
        return tuple(task for task in self._in("val") if not told & set(task.sessions))

    def _golden(self) -> tuple[Task, ...]:
        """The tasks that veto, of every need and split, also those that `mine.max_tasks` leaves out otherwise."""
        return tuple(
            task
            for task in self.known.tasks
            if task.golden
            and not task.personal
            and judgeable(task)
            and task.id not in self.models.skipped
            and task.id not in self.known.withheld
        )

    def _fit(self, edit: Edit, document: Document, beside: Sequence[Edit]) -> bool:
        """Whether it may be tried: it changes something, gains no capability, and memory does not hold it back."""
        why = self._unmatched(edit, document, beside)
        refused = consolidate.lint(edit) if why is None else None
        if refused is not None:
            if all(edit.rule != other.rule for other, _ in self.linted):
                self.linted.append((edit, refused))
            return False
        if why is None and self._suppress(edit, document):
            return False
        why = why or self._clash(edit, document)
        if why is not None:
            self.unmatched.append((edit, why))
        return why is None

    def _unmatched(self, edit: Edit, document: Document, beside: Sequence[Edit]) -> str | None:
        """Why it would change nothing."""
        alone = edits.apply(document.text, [edit]).unmatched
        if alone:
            return alone[0][1]
        tried = [other for item in self.candidates for other in item.edits]
        if any(repeats(edit, other) for other in (*tried, *beside)):
            return "the same rule was tried already tonight"
        return None

    def _clash(self, edit: Edit, document: Document) -> str | None:
        """Why it does not go together with what is proposed for the document already, tonight or before."""
        pending = [item.edit for proposal in self.history.open for item in proposal.pending]
        others = (*pending, *self._proposable())
        before = [other for other in others if other.target == edit.target and other.id != edit.id]
        applied = edits.apply(document.text, [*before, edit])
        return next((f"beside what is proposed already: {why}" for it, why in applied.unmatched if it is edit), None)

    def _suppress(self, edit: Edit, document: Document) -> bool:
        model, families = self.models.target.model, self._families(edit)
        why = held_back(self.history, edit, base_blob=document.blob, model=model, families=families)
        why = why or on_trial_already(edit, self.on_trial)
        if why is not None:
            self.suppressed.append((edit, why))
        return why is not None

    def _families(self, edit: Edit) -> frozenset[str]:
        """The families of the edit's need, also those that sit out tonight: a parked rule waits for another one."""
        return frozenset(task.family for task in self.known.tasks if edit.need in task.needs and task.family)

    def _try(self, item: Tryout) -> None:
        """Unless what was accepted meanwhile leaves no room or place for it."""
        if not self._room(item.need, len(item.group.edits) - 1):
            return
        clashes = [(edit, why) for edit in item.group.edits if (why := self._clash(edit, item.training.document))]
        self.unmatched.extend(clashes)
        if not clashes:
            self._tried(self._gate(item.training.documents).begun(item, self.notes))

    # --- the end ---

    def _finished(self, start: Learned, base: Documents) -> Learned:
        accepted = [item for item in self.candidates if item.accepted]
        baseline, candidate = self._means(accepted, base)
        self._test(accepted, base)
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
            notes=(*start.notes, *self.notes),
        )

    def _means(self, accepted: Sequence[Candidate], base: Documents) -> tuple[float | None, float | None]:
        """The means over all val tasks of the base and of all accepted edits together, measured anew where no trial
        tells them. With the gate off nothing is measured."""
        if self.config.gate.mode == "off" or not self._in("val"):
            return None, None
        baseline = self._baseline(base)
        if not accepted:
            return baseline, None
        if len(accepted) == 1 and self._measured_all(accepted[0]):
            return baseline, accepted[0].candidate
        together = self._mean(
            self._replay(self._in("val"), with_accepted(base, self.candidates), f"{self.night}/together")
        )
        if baseline is not None and together is not None and together <= baseline:
            self.notes.append(
                "each accepted edit helps alone, but all of them together do not: look at them one by one"
            )
        return baseline, together

    def _baseline(self, base: Documents) -> float | None:
        """From a trial on the base itself: the memory's trials have the skill's accepted edits under them."""
        taught = any(item.accepted and item.document.kind == "skill" for item in self.candidates)
        for item in self.candidates:
            on_base = item.document.kind == "skill" or not taught
            if on_base and item.baseline is not None and self._measured_all(item):
                return item.baseline
        return self._mean(self._replay(self._in("val"), base))

    def _measured_all(self, candidate: Candidate) -> bool:
        return {pair.task for pair in candidate.pairs} == {task.id for task in self._in("val")}

    def _mean(self, rollouts: Sequence[Rollout]) -> float | None:
        return gate.mean([item.score for item in rollouts], self.config.gate)

    def _test(self, accepted: Sequence[Candidate], base: Documents) -> None:
        """The test split, scored once, on the final text. Reported, and used for nothing."""
        tasks = self._in("test")
        if tasks and accepted:
            mean = self._mean(self._replay(tasks, with_accepted(base, self.candidates), f"{self.night}/test"))
            told = "not measured" if mean is None else f"{mean:.2f} on {len(tasks)}"
            self.notes.append(f"test tasks under the accepted edits, used for no decision: {told}")

    def _reason(self) -> Reason:
        if any(item.accepted for item in self.candidates):
            return "improved"
        if self.candidates:
            unjudged = all(item.verdict == "unverified" for item in self.candidates)
            return "no_heldout" if unjudged else "gate"
        if self.reflections and all(item.failure is not None for item in self.reflections):
            return "optimizer_failed"
        if self.waiting and not self.reflections:
            return "budget"
        return "all_suppressed" if self.suppressed else "no_edits"
