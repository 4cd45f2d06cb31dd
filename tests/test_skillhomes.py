"""Where a skill's name leads at the base commit: to one file, or to none that may be taught."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.gitrepo import GitRepo
from skillopt_git.model import Document
from skillopt_git.skillhomes import ROOTS, SkillHomes
from skillopt_git.used import NoHome
from tests.helpers import Repository

TEXT = "---\nname: deploy\n---\n\n# How we deploy\n"


def homes(repo: Repository, *more: str) -> SkillHomes:
    opened = GitRepo.open(repo.path)
    commit = opened.resolve("HEAD")
    assert commit is not None
    return SkillHomes(opened, commit, more)


def path_of(found: Document | NoHome) -> str:
    assert isinstance(found, Document), found
    return found.path


def why(found: Document | NoHome) -> str:
    assert isinstance(found, NoHome), found
    return found.why


def link(repo: Repository, path: str, to: str) -> None:
    (repo.path / path).parent.mkdir(parents=True, exist_ok=True)
    (repo.path / path).symlink_to(to)


@pytest.mark.parametrize("root", [*ROOTS, "tools/our skills"])
def test_a_skill_is_found_in_any_folder_of_skills(repo: Repository, root: str) -> None:
    """As it is at the commit, to the byte, whatever the work tree says; a configured folder may end with a slash."""
    repo.commit("Write it", {f"{root}/deploy/SKILL.md": TEXT})
    repo.write({f"{root}/deploy/SKILL.md": "Changed\n"})

    found = homes(repo, "tools/our skills/")("deploy")

    assert isinstance(found, Document)
    assert (found.path, found.text, found.kind) == (f"{root}/deploy/SKILL.md", TEXT, "skill")
    assert found.blob == repo.git("rev-parse", f"HEAD:{root}/deploy/SKILL.md").strip()


def test_what_is_not_there_is_missing(repo: Repository) -> None:
    """Also what is only in the work tree, and a folder without a skill in it."""
    repo.commit("Notes", {".claude/skills/deploy/notes.md": "x\n"})
    repo.write({".claude/skills/deploy/SKILL.md": TEXT})

    assert why(homes(repo)("deploy")) == "the skill 'deploy' is not in this repository"


def test_two_files_of_a_name_are_ambiguous(repo: Repository) -> None:
    """Both are named."""
    repo.commit("Two", {f"{root}/deploy/SKILL.md": f"{TEXT}{root}\n" for root in (".claude/skills", ".agents/skills")})

    told = why(homes(repo)("deploy"))

    assert told == (
        "the skill 'deploy' is ambiguous: .claude/skills/deploy/SKILL.md and .agents/skills/deploy/SKILL.md say "
        "different things"
    )


def test_copies_and_links_are_one_skill(repo: Repository) -> None:
    """A copy of the same words, a link to the file, to its folder, and to the folder of all skills."""
    repo.write({".claude/skills/deploy/SKILL.md": TEXT, ".cursor/skills/deploy/SKILL.md": TEXT})
    link(repo, ".codex/skills/deploy/SKILL.md", "../../../.claude/skills/deploy/SKILL.md")
    link(repo, ".devin/skills/deploy", "../../.claude/skills/deploy")
    link(repo, ".agents/skills", "../.claude/skills")
    repo.commit("Many", {})

    assert path_of(homes(repo)("deploy")) == ".claude/skills/deploy/SKILL.md"


def test_a_folder_of_skills_may_be_a_link_alone(repo: Repository) -> None:
    """What is taught is the file behind it."""
    repo.write({"shared/skills/deploy/SKILL.md": TEXT})
    link(repo, ".claude/skills", "../shared/skills")
    repo.commit("Link", {})

    assert path_of(homes(repo)("deploy")) == "shared/skills/deploy/SKILL.md"


@pytest.mark.parametrize(
    ("where", "to", "told"),
    [
        (".claude/skills/deploy/SKILL.md", "/etc/passwd", "outside of the repository"),
        (".claude/skills/deploy/SKILL.md", "../../../../up/SKILL.md", "outside of the repository"),
        (".claude/skills/deploy/SKILL.md", "../../../README.md", "may not be written"),
        (".claude/skills", "/srv/skills", "outside of the repository"),
        (".claude/skills", "../../elsewhere", "outside of the repository"),
        (".claude/skills", "../.github", "may not be written"),
        (".claude/skills", "skills", "may not be written|behind|link"),
    ],
)
def test_what_may_not_be_taught_is_refused(repo: Repository, where: str, to: str, told: str) -> None:
    """Links that lead outside, to other files, or round in a circle."""
    link(repo, where, to)
    repo.commit("Link", {".github/deploy/SKILL.md": TEXT})

    found = homes(repo)("deploy")

    assert isinstance(found, NoHome)
    assert any(part in found.why for part in told.split("|"))


def test_one_refused_file_of_a_name_is_reason_enough(repo: Repository) -> None:
    """Which of two was meant is not guessed because one of them may not be taught."""
    repo.write({".agents/skills/deploy/SKILL.md": TEXT})
    link(repo, ".claude/skills/deploy/SKILL.md", "/etc/passwd")
    repo.commit("Both", {})

    assert why(homes(repo)("deploy")).startswith("the skill 'deploy' may not be taught: ")


def test_a_submodule_is_no_folder_of_skills(repo: Repository, tmp_path: Path) -> None:
    """Its files belong to another repository."""
    other = Repository.create(tmp_path / "other", {"deploy/SKILL.md": TEXT})
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), ".claude/skills")
    repo.commit("Add skills", {})

    assert "submodule" in why(homes(repo)("deploy"))


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\0b"])
def test_a_skill_that_is_no_text_is_taught_nothing_and_ends_no_night(repo: Repository, data: bytes) -> None:
    path = repo.path / ".claude/skills/deploy/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    repo.commit("Write it", {})

    told = why(homes(repo)("deploy"))

    assert told.startswith("the skill 'deploy' may not be taught: .claude/skills/deploy/SKILL.md: the document is ")


@pytest.mark.parametrize("name", ["", ".", "..", "../deploy", "a/b", "-rf", ":(glob)*", "a\nb", "a" * 65, "deploy "])
def test_names_that_no_skill_has_lead_nowhere(repo: Repository, name: str) -> None:
    """They come from transcripts, and are not repeated."""
    repo.commit("Write it", {".claude/skills/deploy/SKILL.md": TEXT})

    assert why(homes(repo)(name)) == "a skill that sessions used has a name that no skill may have"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> SkillHomes:
    files = {".claude/skills/deploy/SKILL.md": TEXT, "SKILL.md": TEXT, ".claude/SKILL.md": TEXT}
    return homes(Repository.create(tmp_path_factory.mktemp("skills") / "acme-api", files))


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(name=st.text(max_size=40) | st.from_regex(r"[\w./:*?\\-]{1,20}", fullmatch=True))
def test_no_name_leads_anywhere_but_to_a_skill_of_that_name(one: SkillHomes, name: str) -> None:
    """Whatever sessions call it."""
    found = one(name)

    assert isinstance(found, NoHome) or found.path == f".claude/skills/{name}/SKILL.md"
