from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from docs.generate import BACKENDS_PAGE, PAGE, backends_page, page
from skillopt_git import __version__

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist of this checkout, and the wheel that is built from that sdist."""
    out = tmp_path_factory.mktemp("dist")

    def build(kind: str, source: Path) -> None:
        command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
        subprocess.run(command, cwd=source, check=True, capture_output=True)

    build("sdist", ROOT)
    with tarfile.open(next(out.glob("*.tar.gz"))) as archive:
        archive.extractall(out, filter="data")
    build("wheel", out / f"skillopt_git-{__version__}")
    return out


def in_wheel(built: Path) -> set[str]:
    return set(zipfile.ZipFile(next(built.glob("*.whl"))).namelist())


def in_sdist(built: Path) -> set[str]:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_the_wheel_holds_the_package_and_its_templates(built: Path) -> None:
    """Every module, template and table of cues, the mark for type checkers, the license; nothing else."""
    names = in_wheel(built)
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "skillopt_git").rglob("*.py")}
    templates = {f"skillopt_git/{path.relative_to(ROOT)}" for path in (ROOT / "templates").rglob("*.j2")}
    cues = {str(path.relative_to(ROOT)) for path in (ROOT / "skillopt_git" / "cues").glob("*.toml")}
    assert templates
    assert cues
    assert names >= modules | templates | cues | {"skillopt_git/py.typed"}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"skillopt_git"}


def test_the_wheel_runs_without_the_checkout(built: Path, tmp_path: Path) -> None:
    """Unpacked anywhere, it is found there, with its templates, and answers."""
    zipfile.ZipFile(next(built.glob("*.whl"))).extractall(tmp_path)
    code = (
        "from skillopt_git import cli, languages, prompts\n"
        "assert languages.reader().tables\n"
        "print(cli.__file__)\n"
        "print(prompts.SHIPPED('judge', ask='?', context='', rubric='?', reference='', answer='42')); cli.main()"
    )
    command = [sys.executable, "-c", code, "--version"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    place, *judge, version = done.stdout.splitlines()
    assert Path(place) == tmp_path / "skillopt_git" / "cli.py"
    assert "42" in judge
    assert version == f"skillopt-git {__version__}"


def test_the_sdist_holds_the_sources_only(built: Path) -> None:
    """Tests and templates are in, environments and leavings of tools are not."""
    names = in_sdist(built)
    assert names >= {"pyproject.toml", "Makefile", "LICENSE", "tests/helpers.py", "templates/commit.txt.j2"}
    leavings = (".venv", ".git/", ".coverage", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".demo", "dist/")
    assert [name for name in names if name.startswith(leavings) or "__pycache__" in name] == []


def test_the_version_is_told_once() -> None:
    """The package's version is what is built, and the changelog knows what is coming."""
    assert PROJECT["project"]["dynamic"] == ["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in changelog or f"## [{__version__}]" in changelog


def test_every_library_is_explained_and_bounded() -> None:
    """Each dependency has a line that says why, and a version that a later release cannot break."""
    reasons = (ROOT / "docs" / "dependencies.md").read_text()
    extras = [line for lines in PROJECT["project"]["optional-dependencies"].values() for line in lines]
    wanted = [
        *PROJECT["project"]["dependencies"],
        *extras,
        *(line for group in PROJECT["dependency-groups"].values() for line in group),
    ]
    names = {re.split(r"[<>=]", line)[0]: line for line in wanted}
    assert [name for name in names if f"[{name}](" not in reasons] == []
    dated = {"tzdata"}  # its versions are dates
    assert [line for name, line in names.items() if name not in dated and not re.search(r"<|==", line)] == []
    assert set(re.findall(r"\[([\w-]+)\]\(https:", reasons)) == set(names)


def test_the_pages_of_settings_and_backends_are_fresh() -> None:
    """`make docs` was run after the last change of a setting or a backend."""
    assert PAGE.read_text(encoding="utf-8") == page()
    assert BACKENDS_PAGE.read_text(encoding="utf-8") == backends_page()


@pytest.mark.parametrize("path", WORKFLOWS, ids=[path.name for path in WORKFLOWS])
def test_a_workflow_is_safe(path: Path) -> None:
    """The strictest offline audit finds nothing: least permissions, pinned actions, no injection."""
    zizmor = Path(sysconfig.get_path("scripts")) / "zizmor"
    command = [str(zizmor), "--offline", "--no-progress", "--persona=auditor", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=[path.name for path in WORKFLOWS])
def test_actions_are_pinned_with_their_version_beside(path: Path) -> None:
    """A commit is what runs, and a version is what a person reads."""
    uses = re.findall(r"uses: (.*)", path.read_text())
    assert uses
    others = [line for line in uses if not line.startswith("./")]
    assert [line for line in others if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


def test_the_supported_versions_are_the_tested_ones() -> None:
    """What the package claims, CI runs."""
    prefix = "Programming Language :: Python :: "
    claimed = {line.removeprefix(prefix) for line in PROJECT["project"]["classifiers"] if line.startswith(prefix)}
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    matrix = re.search(r"python: \[(.*)\]", workflow)
    assert matrix is not None
    assert set(re.findall(r"[\d.]+", matrix[1])) == claimed
    assert PROJECT["project"]["requires-python"] == f">={min(claimed, key=lambda version: int(version.split('.')[1]))}"
