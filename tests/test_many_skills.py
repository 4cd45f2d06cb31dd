"""Nights in which sessions used skills of the repository: each rule goes to the file that it belongs to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillopt_git.backends.scripted import Scripted
from skillopt_git.config import Documents, Gate
from skillopt_git.learned import Learned
from skillopt_git.model import Document, Task
from skillopt_git.ports import Reply, Request
from skillopt_git.used import NoHome
from tests.helpers import Repository
from tests.learning import PNPM as PNPM_NEED
from tests.learning import RULE as PNPM_RULE
from tests.learning import TICKET as TICKET_NEED
from tests.learning import acts, asked, document, edits, follows, found, night, task
from tests.nights import ALWAYS, OTHER, PNPM, RULE, SKILL, TICKET, Run, sessions

PACKAGES, BRANCHES = ".claude/skills/packages/SKILL.md", ".agents/skills/branches/SKILL.md"
BY_HAND = {
    PACKAGES: "---\nname: packages\ndescription: How packages are added\n---\n\n# Packages\n\nAsk first.\n",
    BRANCHES: "---\nname: branches\ndescription: How branches are made\n---\n\r\n  Two blanks  \n\n\nNo end of line",
}
GENERAL = "Always run ruff first"


def use_skills(home: Path, names: Mapping[int, str]) -> None:
    """The sessions at these places, in the order in which they were written, used a skill."""
    paths = sorted(home.rglob("*.jsonl"), key=lambda path: json.loads(path.read_text().splitlines()[0])["timestamp"])
    for place, name in names.items():
        records = [json.loads(line) for line in paths[place].read_text().splitlines()]
        call = {"type": "tool_use", "id": "toolu_1", "name": "Skill", "input": {"skill": name}}
        records[1]["message"]["content"].insert(0, call)
        paths[place].write_text("".join(f"{json.dumps(record)}\n" for record in records))


def write(home: Path, repo: Repository, *groups: tuple[Sequence[Sequence[str]], str]) -> None:
    """Dialogues, each group with the skill that its sessions used."""
    dialogues = [turns for turns_of, _ in groups for turns in turns_of]
    names = [name for turns_of, name in groups for _ in turns_of]
    sessions(home, repo, dialogues)
    use_skills(home, {place: name for place, name in enumerate(names) if name})


def test_each_rule_lands_in_its_file_and_all_in_one_proposal(
    repo: Repository, home: Path, invoke: Run, say: Callable[..., str]
) -> None:
    """Two skills written by hand, one of them of a plugin, and a wish about everything; what a person wrote stays."""
    repo.commit("Write skills", BY_HAND)
    write(home, repo, (PNPM, "packages"), (TICKET, "acme:branches"), (ALWAYS, ""))

    record = invoke("run", "--edit-budget", "4")

    branch = record["branch"]
    assert {(item["path"], item["verdict"]) for item in record["documents"]} == {
        (PACKAGES, "strong"),
        (BRANCHES, "strong"),
        ("CLAUDE.md", "strong"),
    }
    assert {(item["target"], item["text"]) for item in record["edits"]} == {
        (PACKAGES, RULE),
        (BRANCHES, OTHER),
        ("CLAUDE.md", GENERAL),
    }
    for path, rule in ((PACKAGES, RULE), (BRANCHES, OTHER)):
        text = repo.git("cat-file", "blob", f"{branch}:{path}")
        assert f"- {rule}\n" in text.replace("\r\n", "\n")
        assert [other for other in (RULE, OTHER, GENERAL) if other != rule and other in text] == []
        assert text.startswith(BY_HAND[path])
    changed = repo.git("diff", "--name-only", "main", branch).split()
    assert sorted(changed) == sorted([PACKAGES, BRANCHES, "CLAUDE.md"])
    page = say("show", branch)
    assert all(part in page for part in (PACKAGES, BRANCHES, "CLAUDE.md", RULE, OTHER, GENERAL))


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_is_adopted_is_learned(repo: Repository, home: Path, invoke: Run) -> None:
    """The skills of the base are what tasks are answered under, so the next night finds nothing more to say."""
    repo.commit("Write skills", BY_HAND)
    write(home, repo, (PNPM, "packages"), (TICKET, "branches"))
    branch = invoke("run")["branch"]
    invoke("adopt", branch)

    record = invoke("run")

    assert (record["branch"], record["edits"], record["rejected"]) == (None, [], [])


def test_a_missing_and_an_ambiguous_skill_are_told_and_their_wishes_go_the_usual_way(
    repo: Repository, home: Path, invoke: Run
) -> None:
    """To the default skill; the files of that name are left alone."""
    two = {
        f"{root}/packages/SKILL.md": f"# Packages\n\nAs in {root}.\n" for root in (".claude/skills", ".codex/skills")
    }
    repo.commit("Write skills", two)
    write(home, repo, (PNPM, "packages"), (TICKET, "superpowers:branches"))

    record = invoke("run")

    assert {item["target"] for item in record["edits"]} == {SKILL}
    told = "\n".join(record["notes"])
    assert (
        f"'{RULE}' is taught in no skill of its own: the skill 'packages' is ambiguous: .claude/skills/packages/"
        in told
    )
    assert f"'{OTHER}' is taught in no skill of its own: the skill 'branches' is not in this repository" in told
    assert repo.git("diff", "--name-only", "main", record["branch"]).split() == [SKILL]


@pytest.mark.parametrize("how", ["setting", "named", "no skills"])
def test_it_can_be_turned_off(repo: Repository, home: Path, invoke: Run, how: str) -> None:
    """By the setting, by naming a skill, and where no skill is taught."""
    lines = {
        "setting": "used_skills = false",
        "named": 'skill = ".claude/skills/named/SKILL.md"',
        "no skills": "evolve_skill = false",
    }
    repo.commit("Write skills", {**BY_HAND, ".skillopt.toml": f"[documents]\n{lines[how]}\n"})
    write(home, repo, (PNPM, "packages"))

    record = invoke("run")

    expected = {"setting": SKILL, "named": ".claude/skills/named/SKILL.md", "no skills": "CLAUDE.md"}
    assert {item["target"] for item in record["edits"]} == {expected[how]}
    assert "skill of its own" not in "\n".join(record["notes"])


def test_a_folder_of_skills_of_ones_own(repo: Repository, home: Path, invoke: Run) -> None:
    """`documents.skill_roots`, which a repository may set."""
    files = {
        "tools/skills/packages/SKILL.md": "# Packages\n",
        ".skillopt.toml": '[documents]\nskill_roots = ["tools/skills"]\n',
    }
    repo.commit("Write a skill", files)
    write(home, repo, (PNPM, "packages"))

    assert {item["target"] for item in invoke("run")["edits"]} == {"tools/skills/packages/SKILL.md"}


def test_a_skill_that_differs_on_this_machine_is_noted(repo: Repository, home: Path, invoke: Run) -> None:
    """What the base says was measured."""
    repo.commit("Write skills", BY_HAND)
    repo.write({PACKAGES: "Mine\n"})
    write(home, repo, (PNPM, "packages"))

    assert f"your {PACKAGES} differs from the one on main, which is what was measured" in invoke("run")["notes"]


# --- one night, with scripted models -----------------------------------------------------------------------------

HOME = document(".claude/skills/packages/SKILL.md", "Be brief", blob="c" * 40)
OTHER_HOME = document(".claude/skills/branches/SKILL.md", "Be calm", blob="d" * 40)


def homes(name: str) -> Document | NoHome:
    known = {"packages": HOME, "branches": OTHER_HOME}
    return known.get(name) or NoHome(f"the skill '{name}' is not in this repository")


def tasks(*names: str) -> tuple[Task, ...]:
    """Train and val tasks that used the skills of these names, one a task."""
    return tuple(
        task(number, "train" if number < 2 else "val", skills=(name,) if name else ())
        for number, name in enumerate(names)
    )


def learned(*given: Task, **fields: Any) -> tuple[Learned, Scripted]:
    backend = Scripted(script=fields.pop("script", None) or acts(), asked=[])
    return night(*given, backend=backend, home_of=homes, **fields), backend


def test_a_task_is_answered_under_the_skills_it_used_and_no_other() -> None:
    """Both arms alike; the default skill and the memory are there for all."""
    both = (document(".claude/skills/learned/SKILL.md", "Be kind"), document("CLAUDE.md", "Be polite"))

    ran, backend = learned(*tasks("packages", "packages", "packages", "", "branches"), skill=both[0], memory=both[1])

    assert found(ran) == [(HOME.path, PNPM_RULE, "strong")]
    under = {
        (request.ask, PNPM_RULE in dict(request.documents).get(HOME.path, "")): sorted(
            path for path, _ in request.documents
        )
        for request in asked(backend, "rollout")
    }
    shared = [item.path for item in both]
    for one in tasks("packages", "packages", "packages", "", "branches"):
        own = {("packages",): [HOME.path], ("branches",): [OTHER_HOME.path], (): []}[one.skills]
        seen = [paths for (ask, _), paths in under.items() if ask == one.ask]
        assert seen
        assert all(paths == sorted([*shared, *own]) for paths in seen)


def test_most_of_a_needs_tasks_have_to_have_used_the_skill() -> None:
    """Half of them are not most."""
    ran, _ = learned(*tasks("packages", "", "packages", ""))

    assert {path for path, _, _ in found(ran)} == {".claude/skills/learned/SKILL.md"}


def test_two_skills_that_all_tasks_used_are_no_home() -> None:
    """It is told, and nothing is guessed."""
    given = [task(number, "train" if number < 2 else "val", skills=("packages", "branches")) for number in range(4)]

    ran, _ = learned(*given)

    assert {path for path, _, _ in found(ran)} == {".claude/skills/learned/SKILL.md"}
    assert any("its tasks used 'branches' and 'packages' alike" in note for note in ran.notes)


def test_a_damaged_skill_is_left_alone() -> None:
    """Its wishes go the usual way."""
    broken = Document(path=HOME.path, kind="skill", text="<!-- SKILLOPT-SLEEP:LEARNED START -->\n- x\n", blob="e" * 40)

    ran = night(*tasks("packages", "packages", "packages"), home_of=lambda _: broken)

    assert {path for path, _, _ in found(ran)} == {".claude/skills/learned/SKILL.md"}
    assert any(note.startswith(f"{HOME.path} is left alone") for note in ran.notes)


def test_what_does_not_help_in_its_skill_is_tried_in_the_memory_and_in_no_other_skill() -> None:
    """As a rule that the default skill cannot carry is: in other words."""
    longer = f"Whatever package is added or taken out: {PNPM_RULE}, and say so"

    def only_from_memory(request: Request) -> Reply:
        told = tuple(item for item in request.documents if item[0] == "CLAUDE.md")
        return follows(replace(request, documents=told))

    def words(request: Request) -> Reply:
        return edits(longer if "`CLAUDE.md`" in request.ask else PNPM_RULE)

    given = tasks("packages", "packages", "packages", "packages")
    ran, _ = learned(*given, script=acts(target=only_from_memory, optimizer=words))

    assert [(path, verdict) for path, _, verdict in found(ran)] == [
        (HOME.path, "inconclusive"),
        ("CLAUDE.md", "strong"),
    ]


def test_a_wish_about_every_task_goes_to_the_memory_whatever_its_tasks_used() -> None:
    """It says itself that it is no skill's."""
    ran = night(
        *tasks("packages", "packages", "packages"),
        needs={PNPM_NEED: "Always use pnpm, not npm"},
        script=acts(optimizer=lambda _: edits(PNPM_RULE)),
        home_of=homes,
    )

    assert found(ran)[0][0] == "CLAUDE.md"


def test_tasks_that_do_not_read_a_skill_guard_nothing_of_it() -> None:
    """Under the gate `evidence` the guard is of those that used the skill."""
    guards = [
        task(5, "val", TICKET_NEED, skills=("packages",)),
        task(6, "val", TICKET_NEED),
        task(7, "val", TICKET_NEED, skills=("branches",)),
    ]
    given = (*tasks("packages", "packages", "packages", "packages", "packages"), *guards)
    backend = Scripted(script=acts(), asked=[], deterministic=False)

    ran = night(*given, backend=backend, home_of=homes, gate=Gate(mode="evidence"))

    (candidate,) = [item for item in ran.candidates if item.document.path == HOME.path]
    assert candidate.evidence is not None
    told = {row.task: row.part for row in candidate.evidence.tasks}
    assert (told.get(guards[0].id), guards[1].id in told, guards[2].id in told) == ("guard", False, False)


def test_settings_are_on_by_default() -> None:
    """A repository without skills notices nothing of it."""
    assert (Documents().used_skills, Documents().skill_roots) == (True, ())
