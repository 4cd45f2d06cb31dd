"""Forty-three states a repository may be in, each for the four verbs that write: `make scenarios` prints the table.

`python -m tests.scenarios --markdown` prints it as the page `docs/scenarios.md`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt_git.errors import SkilloptError
from tests.nights import SKILL
from tests.states import (
    AWKWARD,
    LEARNED,
    awkward,
    bare,
    branches_checked_out,
    configured,
    detached,
    dirty,
    failing_hooks,
    folder_replaced_by_a_link,
    in_the_submodule,
    in_the_way,
    linked,
    locked,
    merging,
    missing_filter,
    names_taken,
    no_room,
    nobody,
    ordinary,
    partial_without_remote,
    read_only,
    replaced_by_a_folder,
    replaced_by_a_link_outside,
    shallow,
    somebody_elses,
    sparse,
    stashing,
    unborn,
    with_submodule,
)
from tests.verbs import BLOCK, NOTES, VERBS, Scenario, Verb, told

# --- the states ---------------------------------------------------------------------------------------------------


def _untaught(words: str) -> dict[Verb, str]:
    """What replaces the document says no rule: it cannot be taught, and there is nothing to take back."""
    return {"run": words, "adopt": words, "revert": "names no edit here"}


SKILL_FOLDER = SKILL.removesuffix("/SKILL.md")
TWINS = {"Claude.md": "other\n", "CLAUDE.md": "# Memory\n", f"{SKILL_FOLDER}/skill.md": "other\n"}
SCAFFOLD = b"""\
---
name: skillopt-sleep-learned
description: Rules learned from earlier sessions in this repository. Use them for every task here.
---

# Learned rules
"""
ODD_PATH = "päd \"q\" 'x' -d [g]*?/u\u0308 x/skillopt-sleep-learned/SKILL.md"
CRLF = (NOTES.replace(b"\n", b"\r\n"), (NOTES + BLOCK).replace(b"\n", b"\r\n"))
IDENT = b"# Notes\n\n$Id$\n"
HOOKS = ("commit-msg", "post-checkout", "reference-transaction")

on = partial(Scenario, make=ordinary, movable=True)
STATES: tuple[Scenario, ...] = (
    on(name="clean"),
    on(name="dirty tree (stashed, staged, unstaged, untracked, deleted)", change=dirty),
    on(name="merge in progress with conflicts", change=merging, refused={"adopt": "resolve your current index"}),
    on(name="detached HEAD", change=detached),
    Scenario(name="bare clone", make=bare),
    Scenario(name="shallow clone, depth 1", make=shallow),
    Scenario(name="partial clone blob:none, remote gone", make=partial_without_remote),
    Scenario(name="no commits yet", make=unborn, refused=dict.fromkeys(VERBS, "no commits yet")),
    Scenario(name="submodule (initialised, dirty)", make=with_submodule, change=in_the_submodule),
    Scenario(name="linked work tree", make=linked),
    on(name="sparse checkout (cone)", change=sparse),
    on(name="sparse checkout and sparse index", change=lambda repo: sparse(repo, "--sparse-index")),
    on(
        name="commit.gpgsign=true, no key",
        change=lambda repo: configured(repo, commit_gpgsign="true", user_signingkey="none", gpg_program="/bin/false"),
    ),
    on(
        name="core.hooksPath, failing pre-commit",
        change=lambda repo: failing_hooks(repo, ("pre-commit",), elsewhere=True),
    ),
    on(
        name=".git/hooks, failing pre-commit", change=lambda repo: failing_hooks(repo, ("pre-commit",), elsewhere=False)
    ),
    on(
        name="hooksPath: commit-msg, post-checkout, reference-transaction all fail",
        change=lambda repo: failing_hooks(repo, HOOKS, elsewhere=True),
    ),
    on(
        name="core.autocrlf=true, LF content",
        change=lambda repo: configured(repo, anew=True, core_autocrlf="true"),
    ),
    on(
        name="core.autocrlf=true, CRLF content must stay",
        before=CRLF[0],
        after=CRLF[1],
        change=lambda repo: configured(repo, core_autocrlf="true"),
    ),
    on(
        name="core.autocrlf=true and safecrlf=true",
        change=lambda repo: configured(repo, core_autocrlf="true", core_safecrlf="true"),
    ),
    on(
        name=".gitattributes eol=crlf and ident",
        others={".gitattributes": "*.md text eol=crlf ident\n"},
        before=IDENT,
        after=IDENT + BLOCK,
        change=lambda repo: configured(repo, anew=True),
    ),
    Scenario(name="SHA-256 repository", make=lambda it, path: ordinary(it, path, "--object-format=sha256")),
    on(name="mode 100755 kept", mode="100755"),
    on(
        name="mode 100755 kept, core.fileMode=false",
        mode="100755",
        change=lambda repo: configured(repo, core_fileMode="false"),
    ),
    on(name="SKILL.md is a link inside the repository", path=LEARNED, links={SKILL: f"../../../{LEARNED}"}),
    on(
        name="SKILL.md is an absolute link outside",
        change=replaced_by_a_link_outside,
        refused=_untaught("outside of the repository"),
    ),
    on(name="the skill's folder is a link", change=folder_replaced_by_a_link, refused=_untaught("a link to a folder")),
    Scenario(
        name="paths: space, unicode, quote, tab, newline, dash, glob, NFD",
        make=awkward,
        others=dict.fromkeys(AWKWARD, "x\n"),
        path=ODD_PATH,
        asked=ODD_PATH,
    ),
    on(name="case collision in the tree", others=TWINS),
    on(
        name="case collision, core.ignorecase=true",
        others=TWINS,
        change=lambda repo: configured(repo, core_ignorecase="true"),
    ),
    on(
        name=".git/index.lock present",
        change=lambda repo: locked(repo, "index.lock"),
        refused={"adopt": "index.lock"},
    ),
    on(
        name=".git/HEAD.lock and packed-refs.lock present",
        change=lambda repo: locked(repo, "HEAD.lock", "packed-refs.lock"),
        refused={"adopt": "HEAD.lock", "reject": "packed-refs.lock"},
    ),
    on(
        name=".gitignore covers the file",
        others={".gitignore": ".claude/\n"},
        before=None,
        after=SCAFFOLD + BLOCK,
    ),
    on(
        name="required clean/smudge filter missing (as LFS)",
        others={".gitattributes": "*.md filter=crypt\n"},
        change=missing_filter,
        refused={"adopt": "smudge filter crypt failed"},
    ),
    on(name="no identity anywhere (user.useConfigOnly)", change=nobody, signer="skillopt-git"),
    on(name="branch exists already", change=names_taken, number="-2", refused={"revert": "holds other commits"}),
    on(
        name="branch checked out in another work tree",
        change=branches_checked_out,
        number="-2",
        kept=True,
        refused={"revert": "is checked out"},
    ),
    on(
        name="a branch named sleep exists",
        change=no_room,
        refused={
            "run": "a branch named sleep",
            "adopt": "no open proposal",
            "reject": "no open proposal",
            "revert": "rename or delete refs/heads/sleep",
        },
    ),
    on(
        name="path is a folder in the base",
        change=replaced_by_a_folder,
        refused=_untaught("it is a folder"),
    ),
    on(name="GIT_DIR and GIT_INDEX_FILE in the environment", environment=somebody_elses),
    on(name="read-only files in the work tree", change=read_only),
    on(
        name="an ignored file of that name in the way",
        others={".gitignore": ".claude/\n"},
        before=None,
        after=SCAFFOLD + BLOCK,
        change=in_the_way,
        refused={"adopt": "ignored files would be overwritten"},
    ),
    on(name="merge.autoStash=true, dirty tree", change=stashing),
    on(
        name="merge.verifySignatures=true",
        change=lambda repo: configured(repo, merge_verifySignatures="true"),
    ),
)


# --- the table ---------------------------------------------------------------------------------------------------

PAGE = """\
<!-- Written by `python -m tests.scenarios --markdown`; change tests/scenarios.py. -->

# Forty-three scenarios

What the verbs that write do in every state a repository may be in. *Right* is exactly the commit, the merge or the
branch that was asked for, and nothing else: files, indexes, HEADs, stash, other branches, configuration, hooks and
locks stay byte for byte, in every work tree. Where the base is checked out, `adopt` updates index and files as
`git merge --no-ff` would, without hooks and signatures. *Refused* is an error that says why, and nothing of yours is
touched. A rejection whose branch cannot be deleted is remembered all the same; the next command finishes it.

"""


def cell(scenario: Scenario, verb: Verb) -> str:
    with TemporaryDirectory() as folder:
        try:
            return told(scenario, verb, Path(folder))
        except (AssertionError, SkilloptError) as error:  # the latter in what the verb builds on
            return f"WRONG: {' '.join(str(error).split())}"


def lines(name: str, cells: Sequence[str]) -> Iterator[str]:
    """One line of the table, and below it what its words are short for."""
    yield f"{name:75}" + "".join(f"{found.partition(':')[0]:9}" for found in cells).rstrip()
    for told_ in dict.fromkeys(found for found in cells if found != "right"):
        verbs = [verb for verb, found in zip(VERBS, cells, strict=True) if found == told_]
        yield f"    {', '.join(verbs)} {told_}"


def page(table: Mapping[str, Sequence[str]]) -> str:
    listed = [("scenario", *(f"`{verb}`" for verb in VERBS)), ("---",) * (len(VERBS) + 1)]
    listed += [(name, *cells) for name, cells in table.items()]
    return PAGE + "".join(f"| {' | '.join(line)} |\n" for line in listed)


def main(*options: str) -> int:
    quiet = "--markdown" in options
    table: dict[str, list[str]] = {}
    for scenario in STATES:
        table[scenario.name] = [cell(scenario, verb) for verb in VERBS]
        if not quiet:
            print("\n".join(lines(scenario.name, table[scenario.name])), flush=True)
    counts = Counter(found.partition(":")[0] for cells in table.values() for found in cells)
    summary = ", ".join(f"{counts[kind]} {kind}" for kind in ("right", "refused", "WRONG"))
    print(
        page(table) if quiet else f"\n{len(table)} scenarios, {counts.total()} cells: {summary}",
        end="" if quiet else "\n",
    )
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
