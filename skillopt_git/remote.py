"""What the other side of a remote has, and the one way to change it: a push that names what it expects to find.

Nothing is fetched into the user's refs (a push notes in `refs/remotes` where the branch is then, as git does), and no
hook of theirs runs. Nobody is asked for a password: credentials come from the helpers and variables git itself knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt_git.errors import GitError, RefMoved, UsageError
from skillopt_git.gitrepo import Done, GitRepo, execute

LONGEST = 600.0  # seconds for one command, should a server stop answering in a way that git does not notice

_STALLED = ("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=30")
_ENVIRONMENT = {"SSH_ASKPASS_REQUIRE": "never", "GCM_INTERACTIVE": "never"}
_PLAIN = ("--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap=", "--no-filter")
_NO_ATOMIC = "does not support --atomic"
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")

# What a server's refusal means, by its words, and what to do about it.
_REMEDIES = (
    (
        re.compile(
            r"Authentication failed|could not read (Username|Password)|terminal prompts disabled|Permission denied"
        ),
        "git has no valid credentials for it: try `git ls-remote {remote}` until that works",
    ),
    (
        re.compile(r"returned error: 403|denied to|not have permission|not allowed to push"),
        "these credentials may read but not write there: they need the right to push",
    ),
    (
        re.compile(r"GH006|GH013|protected branch|hook declined|hidden ref|funny refname|deny updating"),
        "its rules refuse that ref; where it takes branches only, set propose.ledger_ref to refs/heads/skillopt/ledger",
    ),
    (
        re.compile(r"returned error: (429|5\d\d)|Could not resolve host|timed out|no answer within|[Cc]onnect"),
        "try again later",
    ),
)


@dataclass(frozen=True, slots=True)
class Update:
    """One ref of a push: where it shall be (None: nowhere), and where it is expected (None: not there yet)."""

    ref: str
    new: str | None
    old: str | None


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote of `repo` by the name that git knows it by."""

    repo: GitRepo
    name: str
    longest: float = LONGEST

    def url(self) -> str:
        """Where it is fetched from, the user's own short forms of addresses spelt out."""
        return self.repo.run("remote", "get-url", "--", self.name).text

    def refs(self, *patterns: str) -> dict[str, str]:
        """Ids by full name of the refs it has now that match one of `patterns`, as `git ls-remote` reads them."""
        done = self._ask("ls-remote", "--refs", "--quiet", "--", self.name, *patterns)
        pairs = (line.split("\t", 1) for line in done.text.splitlines())
        return {ref: sha for sha, ref in pairs}

    def default_branch(self) -> str | None:
        """The branch that the other side's HEAD is on, without `refs/heads/`; None where it tells none."""
        told = self._ask("ls-remote", "--symref", "--quiet", "--", self.name, "HEAD").text
        found = re.search(r"^ref: refs/heads/(\S+)\tHEAD$", told, re.MULTILINE)
        return found[1] if found else None

    def fetch(self, *refs: str) -> None:
        """Brings what these refs hold into this clone, and moves no ref of it."""
        if refs:
            self._ask("fetch", "--quiet", *_PLAIN, "--", self.name, *refs)

    def push(self, updates: Sequence[Update]) -> None:
        """Moves all refs or none. Raises `RefMoved` if one was not where it was expected: nothing was changed then.

        An answer that got lost is asked for again, so that what arrived counts as done. On a server that cannot move
        several refs as one they go one after the other, in this order.
        """
        if not updates:
            return
        done = self._pushed(updates)
        if done.code and _NO_ATOMIC in done.err and len(updates) > 1:
            for update in updates:
                self.push([update])
        elif done.code and not self._arrived(updates):
            self._refuse(done, updates)

    def _pushed(self, updates: Sequence[Update]) -> Done:
        leases = [f"--force-with-lease={update.ref}:{update.old or ''}" for update in updates]
        moves = [f"{update.new or ''}:{update.ref}" for update in updates]
        atomic = ["--atomic"] if len(updates) > 1 else []
        options = ("--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no")
        return self._attempt("push", *options, *atomic, *leases, "--", self.name, *moves)

    def _arrived(self, updates: Sequence[Update]) -> bool:
        there = self.refs(*(update.ref for update in updates))
        return all(there.get(update.ref) == update.new for update in updates)

    def _refuse(self, done: Done, updates: Sequence[Update]) -> None:
        told = f"{done.out.decode('utf-8', 'replace')}\n{done.err}"
        names = ", ".join(update.ref for update in updates)
        # What this side rejects is a race; what the other side does is its rules, but for a lock.
        if re.search(r"\t\[rejected\] \((?!atomic)|cannot lock ref", told):
            raise RefMoved(f"{names} moved at {self.name} meanwhile", "try again")
        why = re.search(r"\t\[(?:remote )?rejected\] \((?!atomic)(.*)\)", told)
        raise self._error(done, f"{names}: {why[1]}" if why else None, told)

    # --- asking --------------------------------------------------------------------------------------------------

    def _attempt(self, command: str, *args: str) -> Done:
        folder = self.repo.root or self.repo.common_dir
        return execute(folder, command, *args, settings=_STALLED, env=_ENVIRONMENT, timeout=self.longest)

    def _ask(self, command: str, *args: str) -> Done:
        done = self._attempt(command, *args)
        if done.code:
            raise self._error(done, None, done.err)
        return done

    def _error(self, done: Done, what: str | None, told: str) -> GitError:
        hint = next((remedy for words, remedy in _REMEDIES if words.search(told)), "\n".join(done.words[1:]))
        message = f"git {done.command} {self.name}: {what or done.words[0]}"
        return GitError(_CREDENTIALS.sub("", message), _CREDENTIALS.sub("", hint.format(remote=self.name)))


def remote_name(repo: GitRepo) -> str | None:
    """`origin`, else the only remote; None where there is none, or no telling which."""
    names = repo.remotes()
    return "origin" if "origin" in names else names[0] if len(names) == 1 else None


def the_remote(repo: GitRepo, name: str | None = None) -> Remote:
    """The remote of that name, else the one that `remote_name` finds. Raises `UsageError` where there is none."""
    names = repo.remotes()
    found = name or remote_name(repo)
    if found in names and found is not None:
        return Remote(repo, found)
    known = f"known: {', '.join(names)}" if names else "`git remote add origin URL` names one"
    raise UsageError(f"there is no remote '{found}'" if found else "there is no one remote to use", known)
