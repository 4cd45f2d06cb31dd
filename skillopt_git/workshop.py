"""One repository with its memory, opened for one command."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_git.config import Config
from skillopt_git.gitrepo import GitRepo, Identity
from skillopt_git.ids import run_id
from skillopt_git.ledger import Ledger
from skillopt_git.model import Event
from skillopt_git.outcomes import awaited, sync
from skillopt_git.private import Private
from skillopt_git.recall import History, decisions, recall
from skillopt_git.redact import Redactor, Scanner
from skillopt_git.stamp import Stamp
from skillopt_git.targets import Base, default_base

if TYPE_CHECKING:
    from skillopt_git.bank import Bank
    from skillopt_git.decide import Desk


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """One repository with its memory, opened for one command."""

    repo: GitRepo
    private: Private
    ledger: Ledger
    author: Identity
    base: Base
    stamp: Stamp

    @property
    def redact(self) -> Redactor:
        """Made when it is needed, for the key behind it is written on first use: looking on writes nothing."""
        return Redactor(self.private.key(), self.ledger.scanner)

    def bank(self) -> Bank:
        """What was redacted when it came in is redacted anew only for words that were denied since."""
        bank = self.private.bank()
        return bank.cleaned(self.redact) if self.ledger.scanner.deny_words else bank

    def events(self) -> tuple[Event, ...]:
        """The ledger with what people did since, noticed and not yet recorded."""
        return (*self.ledger.events(), *self._noticed())

    def told(self) -> tuple[Event, ...]:
        """The same without the events that only learning needs."""
        return (*self.ledger.told().events, *self._noticed())

    def controls(self) -> tuple[Event, ...]:
        """What the gate found where the right verdict is known."""
        return tuple(event for event in self.ledger.told().events if event.type == "aa")

    def runs(self) -> tuple[Event, ...]:
        return tuple(event for event in self.ledger.told().events if event.type == "run")

    def history(self) -> History:
        """As this run sees it."""
        known = recall(self.events(), simulated=self.stamp.simulated)
        return replace(known, awaited=awaited(self.repo, known, self.base))

    def everything(self) -> History:
        """As a person sees it: what was proposed and decided, simulated or not."""
        return recall(decisions(self.told()), simulated=True)

    def desk(self) -> Desk:
        """For a person's decisions, which are real whatever they decide about."""
        from skillopt_git.decide import Desk  # here and below: who only looks need not wait for what writes

        stamp = replace(self.stamp, simulated=False)
        return Desk(repo=self.repo, ledger=self.ledger, history=self.everything(), author=self.author, stamp=stamp)

    def sync(self) -> None:
        """Records what people did since. Said as real: what a person decided counts for every run."""
        self.ledger.append(self._noticed(), when=self.stamp.now, message="Note what became of proposals")

    def catch_up(self) -> list[str]:
        """Records the branches that a run or verb rebuilt and broke off; without it they would count as touched."""
        from skillopt_git.publish import publish, rebuilt

        found = []
        for proposal in self.everything().open:
            if rebuilt(self.repo, self.ledger, proposal, self.author):
                stamp = replace(self.stamp, simulated=proposal.simulated)
                publish(self.repo, self.ledger, proposal, author=self.author, stamp=stamp)
                found.append(f"{proposal.branch} was rebuilt by a run or verb that broke off; that is noted now")
        return found

    def _noticed(self) -> tuple[Event, ...]:
        known = recall(decisions(self.ledger.told().events), simulated=True)
        return sync(self.repo, known, self.base, replace(self.stamp, simulated=False))


def open_workshop(path: Path | GitRepo, config: Config, *, now: datetime, simulated: bool = False) -> Workshop:
    repo = path if isinstance(path, GitRepo) else GitRepo.open(path)
    return Workshop(
        repo=repo,
        private=Private(repo.private_dir()),
        ledger=ledger(config, repo),
        author=author(config),
        base=default_base(repo, config.propose.base),
        stamp=Stamp(run=run_id(now, secrets.token_hex(4)), now=now, simulated=simulated),
    )


def author(config: Config) -> Identity:
    """Who makes the tool's commits."""
    return Identity(config.propose.author_name, config.propose.author_email, signs=config.git.sign == "local")


def ledger(config: Config, repo: GitRepo) -> Ledger:
    """Its commits are never signed: there are many, and what they hold is proven by its own names."""
    return Ledger(repo, config.propose.ledger_ref, replace(author(config), signs=False), scanner=scanner(config))


def scanner(config: Config) -> Scanner:
    """What looks at everything that is written; the same one stands behind the redactor."""
    return Scanner(config.harvest.deny_words)
