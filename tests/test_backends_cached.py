"""What a backend that remembers asks again, and what it keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillopt_git.backends.cached import Cached
from skillopt_git.backends.scripted import Scripted
from skillopt_git.ports import CallFailed, Reply, Request, Usage
from skillopt_git.recall import History
from skillopt_git.redact import Redactor
from tests.learning import SKILL, acts, document, night, usual

ASK = Request(
    role="target",
    purpose="rollout",
    ask="Add lodash",
    context="Earlier",
    documents=(("CLAUDE.md", "# Notes\n"),),
    tools=("Bash",),
    sample="x1-1/1",
)
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def cached(folder: Path, inner: Scripted, templates: str = "one") -> Cached:
    return Cached(inner=inner, folder=folder, templates=templates, redact=Redactor(b"key"), aside=aside)


def aside(path: Path) -> None:
    path.rename(path.with_suffix(".damaged"))


def counting() -> Scripted:
    """Answers with the number of the question."""
    backend = Scripted(script=lambda _: Reply(text=str(len(backend.asked)), usage=Usage(10, 5, 0.01)))
    return backend


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_repeated_question_is_not_asked_again(folder: Path) -> None:
    """The same answer, tools and model, at no cost; also by another process."""
    inner = Scripted(script=lambda _: Reply(text="né", tools=("Bash", "Read"), usage=Usage(10, 5, 0.01), model="m-1"))
    (first,) = cached(folder, inner).complete([ASK])

    (second,) = cached(folder, inner).complete([ASK])

    assert len(inner.asked) == 1
    assert first == Reply(text="né", tools=("Bash", "Read"), usage=Usage(10, 5, 0.01), model="m-1")
    assert second == Reply(text="né", tools=("Bash", "Read"), model="m-1")


def test_known_and_new_questions_keep_their_places(folder: Path) -> None:
    """Only what is missing is asked, all at once; results come in the order of the requests."""
    inner = counting()
    other, third = replace(ASK, ask="Bye"), replace(ASK, ask="Third")
    cached(folder, inner).complete([other])

    replies = cached(folder, inner).complete([ASK, other, third])

    assert [reply.text for reply in replies if isinstance(reply, Reply)] == ["2", "1", "3"]
    assert inner.asked == [other, ASK, third]


@pytest.mark.parametrize(
    "change",
    [
        {"sample": "x1-2/1"},
        {"sample": ""},
        {"ask": "Add zod"},
        {"context": ""},
        {"documents": (("CLAUDE.md", "# Notes\n- Use pnpm\n"),)},
        {"documents": (("AGENTS.md", "# Notes\n"),)},
        {"tools": ()},
        {"max_tokens": 7},
        {"role": "optimizer"},
        {"purpose": "judge"},
    ],
)
def test_every_part_of_a_question_is_in_the_key(folder: Path, change: dict[str, Any]) -> None:
    """The sample too: a gate rollout of another trial is always asked anew."""
    inner = counting()

    cached(folder, inner).complete([ASK])
    cached(folder, inner).complete([replace(ASK, **change)])

    assert len(inner.asked) == 2


@pytest.mark.parametrize(
    "change", [{"name": "other"}, {"model": "other"}, {"settings": {"temperature": 1.0}}, {"knows": "more"}]
)
def test_who_answers_is_in_the_key(folder: Path, change: dict[str, Any]) -> None:
    """Another backend, model, setting or world gives another answer."""
    first, second = counting(), replace(counting(), asked=[], **change)
    second = replace(second, script=lambda _: Reply(text="mine"))

    cached(folder, first).complete([ASK])

    assert cached(folder, second).complete([ASK]) == [Reply(text="mine")]


def test_the_wording_of_the_prompts_is_in_the_key(folder: Path) -> None:
    """An answer to other words is another answer."""
    inner = counting()

    cached(folder, inner, "one").complete([ASK])
    cached(folder, inner, "two").complete([ASK])

    assert len(inner.asked) == 2


def test_a_failure_is_not_remembered(folder: Path) -> None:
    """A call that failed is made again, and its second answer is kept."""
    answers: list[Reply | CallFailed] = [CallFailed("timeout", "too slow"), Reply(text="pnpm")]
    inner = Scripted(script=lambda _: answers.pop(0))

    assert cached(folder, inner).complete([ASK]) == [CallFailed("timeout", "too slow")]
    assert files(folder) == []
    assert cached(folder, inner).complete([ASK]) == [Reply(text="pnpm")]
    assert cached(folder, inner).complete([ASK]) == [Reply(text="pnpm")]


def test_a_secret_is_neither_kept_nor_given(folder: Path) -> None:
    """The first answer is the one that is remembered: redacted both times."""
    inner = Scripted(script=lambda _: Reply(text=f"Log in with {SECRET}"))

    (first,) = cached(folder, inner).complete([ASK])
    (second,) = cached(folder, inner).complete([ASK])

    assert isinstance(first, Reply)
    assert first.text.startswith("Log in with [REDACTED:")
    assert second == first
    assert [path for path in files(folder) if SECRET in path.read_text()] == []


def test_files_are_for_their_owner_only(folder: Path) -> None:
    """Whatever the umask is: folders 0700, files 0600, and no temporary file is left."""
    cached(folder, counting()).complete([ASK])

    (kept,) = files(folder)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert {path.stat().st_mode & 0o777 for path in (folder, kept.parent)} == {0o700}


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda data: data[: len(data) // 2],
        lambda _: b"\xff\xfe\x00",
        lambda _: b"[1, 2]",
        lambda _: b"null",
        lambda data: json.dumps(json.loads(data) | {"text": None}).encode(),
        lambda data: json.dumps(json.loads(data) | {"tools": "Bash"}).encode(),
        lambda _: b"[" * 100_000,
    ],
)
def test_a_damaged_file_is_asked_again_and_written_anew(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    """Never an error, and never half an answer."""
    inner = counting()
    cached(folder, inner).complete([ASK])
    (kept,) = files(folder)
    kept.write_bytes(damage(kept.read_bytes()))

    assert cached(folder, inner).complete([ASK]) == [Reply(text="2", usage=Usage(10, 5, 0.01))]
    assert cached(folder, inner).complete([ASK]) == [Reply(text="2")]
    assert kept.with_suffix(".damaged").exists()


def test_half_a_character_becomes_a_question_mark(folder: Path) -> None:
    """A lone surrogate, in an answer or a question, could be stored nowhere."""
    inner = Scripted(script=lambda _: Reply(text="half \ud83d of it"))
    odd = replace(ASK, ask="\udc00")

    assert (
        cached(folder, inner).complete([odd]) == cached(folder, inner).complete([odd]) == [Reply(text="half ? of it")]
    )
    assert len(inner.asked) == 1


def test_it_is_known_by_what_is_inside(folder: Path) -> None:
    """A wrapper changes nothing of what is said about the model."""
    inner = Scripted(
        script=lambda _: None, name="n", model="m", deterministic=False, simulated=True, settings={"seed": 3}, knows="w"
    )

    outer = cached(folder, inner)

    assert (outer.name, outer.model, outer.deterministic, outer.simulated) == ("n", "m", False, True)
    assert (outer.settings, outer.knows) == ({"seed": 3}, "w")


# --- whole nights ------------------------------------------------------------------------------------------------


def test_a_broken_off_night_goes_on_without_asking_anything_anew(folder: Path) -> None:
    """The same night again (nothing was recorded) finds every answer, and comes to the same verdicts."""
    inner = Scripted(script=acts())

    first = night(*usual(), backend=cached(folder, inner))
    count = len(inner.asked)
    second = night(*usual(), backend=cached(folder, inner))

    assert len(inner.asked) == count
    assert second.candidates == first.candidates


def test_held_out_answers_of_another_trial_are_never_shared(folder: Path) -> None:
    """On another base text the trial is another one: both its arms are asked anew, training answers too."""
    inner = Scripted(script=acts())
    night(*usual(), backend=cached(folder, inner), memory=None)
    inner.asked.clear()

    night(*usual(), backend=cached(folder, inner), memory=None, skill=document(SKILL, "Be brief"))

    assert len([request for request in inner.asked if "/" in request.sample]) == 6


def test_a_trial_that_ended_is_not_counted_again(folder: Path) -> None:
    """On the next night the same rule in the same text is another trial, and nothing remembered serves as evidence."""
    inner = Scripted(script=acts())
    (first,) = night(*usual(), backend=cached(folder, inner)).candidates
    inner.asked.clear()

    (second,) = night(
        *usual(), backend=cached(folder, inner), history=History(ended_trials={first.subject: 1})
    ).candidates

    assert second.subject == first.subject
    assert second.trial != first.trial
    assert {request.sample for request in inner.asked} == {f"{second.trial}/1"}
    assert len(inner.asked) == 6
