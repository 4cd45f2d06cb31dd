"""Nights that end in pull requests: a real server of git, scripted models, and a forge on which people act."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skillopt_git import nightly, outside, roles, wiring
from skillopt_git.bundle import read_bundle
from skillopt_git.errors import ForgeError, SafetyError, Skipped
from skillopt_git.hearing import metadata
from skillopt_git.loading import load
from skillopt_git.nightly import Options, Ran
from skillopt_git.ports import Reply, Request
from tests.forge import GUEST, STALE, Hub
from tests.helpers import Repository
from tests.nights import OTHER, PNPM, RULE, SKILL, TICKET, Place, Run, obedient, sessions, taught
from tests.test_nightly_measured import choice

pytestmark = pytest.mark.no_cover  # much work, and no line that others do not reach

BEGAN = datetime.now(UTC)


@pytest.fixture
def hub(repo: Repository, beginning: Place, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A forge for the repository, which has its server as `origin`."""
    server = beginning.path / "server.git"
    repo.git("clone", "--quiet", "--bare", ".", str(server))
    repo.git("remote", "add", "origin", f"file://{server}")
    made = Hub(Repository(server))
    monkeypatch.setattr(wiring, "forge", lambda *_, **__: made)
    return made


@dataclass(frozen=True)
class Night:
    """The next night, with a scripted model that always says the same. Its sessions are read again every time."""

    repo: Repository
    home: Path
    hub: Hub
    place: Place
    count: Iterator[int]

    def __call__(self, *script: Any, **told: Any) -> Ran:
        return self.run(*script, **told)

    def run(
        self,
        script: Any = obedient,
        *,
        bundle: Path | None = None,
        varies: bool = False,
        local: bool = False,
        **flags: Any,
    ) -> Ran:
        config = load(self.repo.path, flags={"harvest.claude_home": str(self.home)} | flags)
        model, _ = choice(script, deterministic=not varies)
        at = BEGAN + timedelta(days=next(self.count))
        options = Options(anew=True, pr=bundle is None and not local, bundle=bundle)
        return nightly.run(self.repo.path, config, options, model=model, clock=lambda: at, notify=lambda _: None)

    def first(self, dialogues: Sequence[Sequence[str]]) -> Ran:
        """The first night, over these dialogues: for all tests that begin with it, it is the same one."""

        def made() -> tuple[Ran, dict[str, Any]]:
            sessions(self.home, self.repo, dialogues)
            return replace(self, count=iter([0])).run(), vars(self.hub)

        ran, hub = self.place.start(f"{len(dialogues)} dialogues", made)
        assert next(self.count) == 0
        vars(self.hub).update(hub)
        return ran


@pytest.fixture
def night(repo: Repository, home: Path, hub: Hub, beginning: Place) -> Night:
    return Night(repo, home, hub, beginning, iter(range(100)))


def outcomes(invoke: Run) -> list[tuple[str, str | None, str | None]]:
    """(type, rule, reason) of what became of edits, the oldest first."""
    events = invoke("log", "--limit", "1000")["events"]
    kinds = {"adopted", "adopted-modified", "rejected", "unrejected", "expired", "superseded", "reverted"}
    return [(item["type"], item["text"], item["reason"]) for item in reversed(events) if item["type"] in kinds]


def test_the_first_night_opens_a_pull_request_and_the_next_ones_write_nothing(
    repo: Repository, home: Path, hub: Hub, night: Night
) -> None:
    """Ready, for its rule is proven; found again by its branch, and left alone as it says what it said."""
    first = night.first(PNPM)

    (pull,) = hub.pulls.values()
    assert (pull.title, pull.draft, pull.base) == (f"Learn: {RULE}", False, "main")
    assert first.record["pull_request"] == {"number": 1, "url": pull.url, "state": "open", "draft": False}
    assert hub.writes == ["create", "label"]
    assert pull.labels == {"skillopt"}
    assert hub.tip(pull.head) == repo.git("rev-parse", pull.head).strip()
    assert f"- [x] <!-- skillopt:edit={first.record['edits'][0]['id']} --> Use pnpm" in pull.body
    hub.writes.clear()
    refs = hub.server.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")

    again = [night() for _ in range(3)]

    assert hub.writes == []
    assert [ran.record["pull_request"] for ran in again] == [first.record["pull_request"]] * 3
    assert hub.server.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads") == refs


def test_a_new_rule_updates_the_pull_request_and_keeps_what_people_wrote(
    repo: Repository, home: Path, hub: Hub, night: Night
) -> None:
    night.first(PNPM)
    hub.edited(1, "Notes of your own between the two marks here are kept.", "Ask bob first.\r\nHe knows npm.")
    sessions(home, repo, [*PNPM, *TICKET])

    night()

    (pull,) = hub.pulls.values()
    assert pull.title == f"Learn: {RULE} (and 1 more)"
    assert "<!-- skillopt:human -->\nAsk bob first.\nHe knows npm.\n<!-- /skillopt:human -->" in pull.body
    assert hub.writes == ["create", "label", "update"]
    told = metadata(pull.body)
    assert told is not None
    assert len(told["edits"]) == 2


def test_a_closed_pull_request_is_a_rejection_with_its_reason(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """Remembered though the branch is gone, and neither the rule nor its branch comes back."""
    branch = night.first(PNPM).record["branch"]
    hub.said(1, "I like npm", GUEST)
    hub.said(1, "We move to bun")
    hub.edited(1, "- [ ] <!-- skillopt:reason=style -->", "- [x] <!-- skillopt:reason=style -->")
    hub.closed(1)
    hub.server.git("update-ref", "-d", f"refs/heads/{branch}")

    again = night()

    assert outcomes(invoke) == [("rejected", RULE, "style: We move to bun")]
    assert (again.record["edits"], again.record["pull_request"]) == ([], None)
    assert again.record["reason"] == "all_suppressed"
    assert len(hub.pulls) == 1
    assert invoke("rejections", "list")["rejections"][0]["text"] == RULE


def test_a_pull_request_that_is_opened_again_takes_the_refusal_back(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    branch = night.first(PNPM).record["branch"]
    tip = hub.tip(branch)
    hub.closed(1)
    night()
    hub.server.git("update-ref", f"refs/heads/{branch}", tip)  # the button "Restore branch"
    hub.reopened(1)

    again = night()

    assert [kind for kind, _, _ in outcomes(invoke)] == ["rejected", "unrejected"]
    assert again.record["pull_request"]["number"] == 1
    assert [item["branch"] for item in invoke("status")["open"]] == [branch]


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_a_merged_pull_request_is_adopted(
    how: str, repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """By what is at the base, however it was merged; the clone's own main need not have it."""
    night.first(PNPM)
    hub.merged(1, how=how)

    again = night()

    assert outcomes(invoke) == [("adopted", RULE, None)]
    assert again.record["pull_request"] is None
    assert RULE not in repo.git("show", "main:README.md")


def test_what_was_taken_out_before_merging_is_refused(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """The other rule is adopted."""
    night.first([*PNPM, *TICKET])
    branch = hub.pulls[1].head
    kept, dropped = (line for line in hub.server.git("log", "--format=%s", f"main..{branch}").splitlines()[::-1])
    first = hub.server.git("rev-list", "--reverse", f"main..{branch}").split()[0]
    tree = hub.server.git("rev-parse", f"{first}^{{tree}}").strip()
    commit = hub.server.git("commit-tree", tree, "-p", "main", "-m", "Take one of them").strip()
    hub.arrived(1, commit)

    night()

    found = {rule: (kind, reason) for kind, rule, reason in outcomes(invoke)}
    assert found[kept.removeprefix("Learn: ")][0] == "adopted"
    assert found[dropped.removeprefix("Learn: ")] == ("rejected", "left out of the merge")


def test_what_a_bot_closes_or_a_deleted_base_is_no_refusal(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """It may be proposed again, on a branch of another name."""
    night.first(PNPM)
    hub.closed(1, STALE)

    again = night()

    assert [kind for kind, _, _ in outcomes(invoke)] == ["expired"]
    assert again.record["pull_request"]["number"] == 2
    assert hub.pulls[2].head != hub.pulls[1].head
    hub.base_deleted(2)
    assert night().record["pull_request"]["number"] == 3
    assert [kind for kind, _, _ in outcomes(invoke)] == ["expired", "expired"]


def test_an_edit_that_is_unticked_leaves_the_branch(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    edits = {item["text"]: item["id"] for item in night.first([*PNPM, *TICKET]).record["edits"]}
    gone = edits[RULE]
    hub.edited(1, f"- [x] <!-- skillopt:edit={gone} -->", f"- [ ] <!-- skillopt:edit={gone} -->")

    night()

    assert outcomes(invoke) == [("rejected", RULE, "unticked")]
    (pull,) = hub.pulls.values()
    assert gone not in pull.body
    assert RULE not in hub.server.git("show", f"{pull.head}:{invoke('status')['open'][0]['edits'][0]['target']}")


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_an_approved_pull_request_is_left_alone(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """One comment says so; what is learned meanwhile waits."""
    night.first(PNPM)
    tip = hub.tip(hub.pulls[1].head)
    hub.approved(1)
    sessions(home, repo, [*PNPM, *TICKET])
    hub.writes.clear()

    ran = night()
    night()

    assert hub.tip(hub.pulls[1].head) == tip
    assert hub.writes == ["comment"]
    assert "approved already" in hub.comments[1, "frozen"]
    assert any("to wait" in note for note in ran.record["notes"])


def test_an_approval_of_what_cannot_be_merged_any_more_holds_nothing_up(
    repo: Repository, home: Path, hub: Hub, night: Night
) -> None:
    """It is measured anew on the text of today, and pushed."""
    branch = night.first(PNPM).record["branch"]
    tip = hub.tip(branch)
    hub.approved(1)
    mine = taught(repo, branch).replace("\n---\n", "\nlicense: MIT\n---\n")
    repo.commit("A skill of my own", {SKILL: mine.replace(RULE, "Say what you changed.")})
    repo.git("push", "--quiet", "origin", "main")

    night()

    assert hub.tip(branch) != tip
    assert hub.server.git("merge-base", "--is-ancestor", "main", branch) == ""
    assert hub.pulls[1].state == "open"
    assert f"- {RULE}\n" in hub.server.git("show", f"{branch}:{SKILL}")


def test_a_branch_that_somebody_wrote_to_is_never_pushed_over(
    repo: Repository, home: Path, hub: Hub, night: Night
) -> None:
    night.first(PNPM)
    branch = hub.pulls[1].head
    commit = hub.server.git("commit-tree", f"{branch}^{{tree}}", "-p", branch, "-m", "Review").strip()
    hub.server.git("update-ref", f"refs/heads/{branch}", commit)
    sessions(home, repo, [*PNPM, *TICKET])

    night()

    assert hub.tip(branch) == commit
    assert "somebody committed to it" in hub.comments[1, "frozen"]


def test_where_no_pull_request_may_be_opened_an_issue_tells_of_the_branch(
    repo: Repository, home: Path, hub: Hub, night: Night
) -> None:
    """And where there are no issues, the report alone. The branch is there either way."""
    sessions(home, repo, PNPM)
    hub.refused["create"] = ForgeError("not_permitted", "Actions may not open pull requests", "turn it on")

    first = night()

    assert [title for title, _, _ in hub.issues] == [f"Learn: {RULE}"]
    assert any("but an issue" in note and "turn it on" in note for note in first.record["notes"])
    assert first.exit_code == 0
    hub.refused["issue"] = ForgeError("missing", "issues are turned off")
    second = night()
    assert any("and no issue" in note for note in second.record["notes"])
    assert hub.tip(str(first.record["branch"]))


def test_a_forge_that_fails_costs_the_night_nothing_but_the_pull_request(
    repo: Repository, home: Path, hub: Hub, night: Night
) -> None:
    """It is recorded, told by its exit code, and made up for by the next."""
    sessions(home, repo, PNPM)
    hub.refused["create"] = ForgeError("network", "no answer", retryable=True)

    first = night()

    assert first.exit_code == 75
    assert any(note.startswith("no pull request: no answer") for note in first.record["notes"])
    hub.refused.clear()
    assert night().record["pull_request"]["number"] == 1


def test_nothing_goes_to_where_everybody_can_read_unless_that_is_said(
    repo: Repository, home: Path, hub: Hub, night: Night
) -> None:
    """Before anything is learned."""
    sessions(home, repo, PNPM)
    hub.is_public = True

    with pytest.raises(SafetyError, match="is public"):
        night()

    assert hub.server.git("for-each-ref", "refs/heads/sleep") == ""
    assert night(**{"propose.public": "summary"}).record["pull_request"]["number"] == 1


def test_what_was_typed_is_on_the_page_only_if_its_owner_says_so(
    repo: Repository, home: Path, hub: Hub, night: Night
) -> None:
    """Never by itself, and never where everybody can read."""
    night.first(PNPM)
    assert "please use pnpm instead" not in hub.pulls[1].body
    hub.closed(1, STALE)

    night(**{"propose.quotes": True})

    assert "- Typed: “no, please use pnpm instead of npm here”" in hub.pulls[2].body
    assert "lodash" not in hub.pulls[2].body
    hub.is_public = True
    with pytest.raises(SafetyError, match=r"would show everybody what was typed"):
        night(**{"propose.quotes": True, "propose.public": "summary"})


def test_what_is_superseded_here_is_closed_there_marked_as_ours(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """A rule that was refused by a verb closes its pull request, and nobody hears that as another refusal."""
    branch = night.first(PNPM).record["branch"]
    invoke("reject", branch, "--reason", "no")

    night()

    assert hub.pulls[1].state == "closed"
    assert "rejected: no" in hub.comments[1, "settled"]
    night()
    assert outcomes(invoke) == [("rejected", RULE, "no")]


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_a_measured_proposal_takes_the_place_of_leads_to_it(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """Marked as ours before it is closed, by label and title; opened again it bears no mark, and stays open."""
    sessions(home, repo, PNPM)
    invoke("run", "--pr", "--allow-simulated")
    title = hub.pulls[1].title
    hub.writes.clear()

    night()

    assert hub.writes == ["create", "label", "label", "update", "comment", "close"]
    assert (hub.pulls[1].state, hub.pulls[2].state) == ("closed", "open")
    assert "skillopt:superseded" in hub.pulls[1].labels
    assert hub.pulls[1].title == f"{title} - superseded"
    assert hub.comments[1, "settled"].startswith("Superseded by\n- #2\n\nClosed by skillopt-git.")
    hub.closed(2)
    hub.reopened(1)
    night()
    assert (hub.pulls[1].state, hub.pulls[1].title) == ("open", title)


def test_what_expired_leads_nowhere(repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run) -> None:
    """Its branch went before anybody decided; what is proposed later did not take its place."""
    branch = night.first(PNPM).record["branch"]
    title = hub.pulls[1].title
    expire(repo, branch)

    night()

    assert hub.pulls[1].title == f"{title} - expired"
    assert hub.comments[1, "settled"].startswith("Closed by skillopt-git.")


def expire(repo: Repository, branch: str) -> None:
    """By hand, in this clone alone."""
    repo.git("branch", "-D", branch)
    repo.git("update-ref", "-d", f"refs/remotes/origin/{branch}")


def test_a_draft_is_opened_as_one(repo: Repository, home: Path, hub: Hub, night: Night) -> None:
    sessions(home, repo, PNPM)

    night(**{"gate.mode": "off"})

    assert hub.pulls[1].draft
    assert hub.pulls[1].title.startswith("[ungated]")


def test_what_the_gate_refused_can_be_seen_as_a_closed_pull_request(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """With its evidence and a label; its branch is gone, and nobody counts it as a person's refusal."""
    sessions(home, repo, PNPM)

    def idle(request: Request) -> Reply:
        return Reply(text="npm install") if request.purpose == "rollout" else obedient(request)

    night(idle, **{"propose.record_rejected": "closed-pr"})

    (pull,) = hub.pulls.values()
    assert pull.state == "closed"
    assert pull.labels == {"skillopt", "skillopt:gate-refused"}
    assert pull.title == f"[refused] Learn: {RULE}"
    assert hub.tip(pull.head) == ""
    assert outcomes(invoke) == []
    assert invoke("status")["open"] == []
    night(idle, **{"propose.record_rejected": "closed-pr"})
    assert len(hub.pulls) == 1


# --- from here ---------------------------------------------------------------------------------------------------


def test_adopting_here_merges_there(repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run) -> None:
    """By the pull request, so that its rules and checks hold; with `--local` in git alone."""
    branch = night.first(PNPM).record["branch"]
    main = repo.git("rev-parse", "main")

    done = invoke("adopt", branch)

    assert hub.pulls[1].state == "merged"
    assert done["commit"] == hub.server.git("rev-parse", "main").strip()
    assert repo.git("rev-parse", "main") == main
    assert outcomes(invoke) == [("adopted", RULE, None)]


def test_adopting_in_git_alone(repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run) -> None:
    branch = night.first(PNPM).record["branch"]

    done = invoke("adopt", branch, "--local")

    assert (hub.pulls[1].state, done["commit"]) == ("open", repo.git("rev-parse", "main").strip())


def test_rejecting_here_closes_there(repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run) -> None:
    branch = night.first(PNPM).record["branch"]

    invoke("reject", branch, "--reason", "no")

    assert hub.pulls[1].state == "closed"
    assert hub.tip(branch) == ""
    assert outcomes(invoke) == [("rejected", RULE, "no")]


def test_rejecting_one_rule_here_takes_it_off_there(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    edits = {item["text"]: item["id"] for item in night.first([*PNPM, *TICKET]).record["edits"]}

    invoke("reject", "--edit", edits[RULE])

    assert hub.pulls[1].state == "open"
    assert edits[RULE] not in hub.pulls[1].body


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_lost_ledger_is_made_anew_from_the_forge(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """Here and at the remote: what was proposed, adopted and refused is as it was, with the same names."""
    night.first(PNPM)
    hub.closed(1)
    hub.server.git("update-ref", "-d", f"refs/heads/{hub.pulls[1].head}")
    sessions(home, repo, [*PNPM, *TICKET])
    night()
    hub.merged(2)
    invoke("sync")
    before = {(item["id"], item["type"], item["text"]) for item in decided(invoke)}
    status = invoke("status")
    for where in (repo, hub.server):
        where.git("update-ref", "-d", "refs/skillopt/ledger")
    assert invoke("status")["outcomes"] == {}

    told = invoke("ledger", "rebuild")

    assert told["pulls"] == 2
    assert {(item["id"], item["type"], item["text"]) for item in decided(invoke)} == before
    assert invoke("status")["outcomes"] == status["outcomes"]
    assert invoke("status")["rejections"] == status["rejections"] == 1
    assert invoke("ledger", "rebuild")["events"] == {}


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_guidance_is_on_its_page_and_comes_back_with_a_lost_ledger(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """It is proposed like a rule, and its commit alone says that it is guidance."""
    wise = "Name the tool in whatever you write"

    def guided(request: Request) -> Reply:
        if request.purpose == "guide":
            return Reply(text=json.dumps({"text": wise, "reason": "So it is."}))
        if request.purpose == "reflect" and OTHER in request.ask:
            return Reply(text='{"edits": []}')
        if request.purpose == "rollout" and wise in " ".join(text for _, text in request.documents):
            return Reply(text="Ran pnpm install on branch ACME-7.")
        return obedient(request)

    sessions(home, repo, [*PNPM, *TICKET])
    night(guided)
    hub.merged(1)
    night(guided, **{"replay.slow_update": 1})
    assert f"> {wise}" in hub.pulls[2].body
    hub.merged(2)
    invoke("sync")
    before = {(item["id"], item["type"], item["text"]) for item in decided(invoke)}
    assert wise in {text for _, _, text in before}
    for where in (repo, hub.server):
        where.git("update-ref", "-d", "refs/skillopt/ledger")

    invoke("ledger", "rebuild")

    assert {(item["id"], item["type"], item["text"]) for item in decided(invoke)} == before


def decided(invoke: Run) -> list[dict[str, Any]]:
    kinds = ("proposed", "adopted", "rejected")
    return [item for item in invoke("log", "--limit", "1000")["events"] if item["type"] in kinds]


@pytest.mark.parametrize("how", ["setting", "environment", "label"])
def test_it_can_be_turned_off(
    how: str, repo: Repository, home: Path, hub: Hub, night: Night, monkeypatch: pytest.MonkeyPatch, invoke: Run
) -> None:
    """Nothing is learned then, and nothing fails."""
    night.first(PNPM)
    asked = hub.server.git("for-each-ref")
    if how == "setting":
        repo.commit("Off", {".skillopt.toml": "[propose]\nenabled = false\n"})
    elif how == "environment":
        monkeypatch.setenv("SKILLOPT_DISABLED", "1")
    else:
        hub.labeled(1, "skillopt:pause")

    if how == "label":
        with pytest.raises(Skipped, match="paused by the label"):
            night()
    told = invoke("propose") if how == "label" else invoke("run")

    assert list(told) == ["v", "skipped"]
    assert hub.server.git("for-each-ref") == asked


def test_a_pause_is_heard_before_the_job_that_learns(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sync` goes on all the same, for what people did meanwhile is to be known."""
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    night.first(PNPM)
    invoke("sync")
    assert (tmp_path / "output").read_text() == ""
    hub.labeled(1, "skillopt:pause")

    assert invoke("sync")["events"] == []

    assert (tmp_path / "output").read_text() == f"skipped=paused by the label skillopt:pause on {hub.pulls[1].url}\n"


@pytest.mark.parametrize(
    ("zone", "at", "day"),
    [
        ("UTC", "2026-03-28T23:30:00", "2026-03-28"),
        ("Europe/Berlin", "2026-03-28T22:59:59", "2026-03-28"),
        ("Europe/Berlin", "2026-03-28T23:30:00", "2026-03-29"),  # a day of 23 hours
        ("Europe/Berlin", "2026-10-24T22:30:00", "2026-10-25"),  # and one of 25
        ("Europe/Berlin", "2026-10-25T22:30:00", "2026-10-25"),
        ("America/Los_Angeles", "2026-03-29T06:59:59", "2026-03-28"),
    ],
)
def test_a_branch_has_the_date_of_the_configured_time_zone(
    zone: str, at: str, day: str, repo: Repository, home: Path, hub: Hub
) -> None:
    """Whatever clock the machine goes by, and on the days on which clocks change too."""
    sessions(home, repo, PNPM)
    flags = {"harvest.claude_home": str(home), "harvest.lookback_hours": 0, "propose.time_zone": zone}
    when = datetime.fromisoformat(at).replace(tzinfo=UTC)
    model, _ = choice(obedient)

    ran = nightly.run(
        repo.path,
        load(repo.path, flags=flags),
        Options(pr=True),
        model=model,
        clock=lambda: when,
        notify=lambda _: None,
    )

    assert ran.record["branch"] == hub.pulls[1].head == f"sleep/{day}"


# --- nobody looks ------------------------------------------------------------------------------------------------


def never(request: Request) -> Reply:
    raise AssertionError(f"a model was asked to {request.purpose}")


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_nights_pause_while_nobody_looks_and_go_on_when_somebody_does(
    repo: Repository,
    home: Path,
    hub: Hub,
    night: Night,
    invoke: Run,
    say: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After some, seven if nobody says otherwise, that found the pull request as it was: then no model is asked and no
    night recorded."""
    assert load(repo.path).propose.pause_after == 7
    monkeypatch.setenv("SKILLOPT_PROPOSE_PAUSE_AFTER", "3")
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    nights = [night.first(PNPM), *(night() for _ in range(3))]
    assert [ran.record["night"] for ran in nights] == list(range(1, 5))
    assert invoke("sync")["paused"] == f"paused: {told_of(hub, nights[1])}"
    assert (tmp_path / "output").read_text() == f"skipped=paused: {told_of(hub, nights[1])}\n"
    (open_,) = invoke("status")["open"]
    assert (open_["unread"], open_["paused"]) == (3, True)
    assert "left alone for 3 nights; nights pause until somebody touches it\n" in say("status")
    hub.said(1, "Marked as stale", STALE)
    hub.said(1, "Nice tool!", GUEST)
    hub.label(1, ["skillopt"])
    before = repo.git("rev-parse", "refs/skillopt/ledger"), hub.server.git("for-each-ref")

    for _ in range(2):
        with pytest.raises(Skipped, match="was left alone for 3 nights, since"):
            night(never)
    assert (repo.git("rev-parse", "refs/skillopt/ledger"), hub.server.git("for-each-ref")) == before
    assert night(never, **{"propose.pause_after": 4}).record["night"] == 5
    with pytest.raises(Skipped, match="4 nights"):
        night(never)

    hub.said(1, "On it next week")

    assert [night().record["night"] for _ in range(3)] == list(range(6, 9))
    with pytest.raises(Skipped, match="3 nights"):
        night(never)
    hub.merged(1)
    assert night().record["pull_request"] is None


def told_of(hub: Hub, first: Ran) -> str:
    return (
        f"{hub.pulls[1].url} was left alone for 3 nights, since {first.record['started'][:10]}; nights go on when it "
        "is merged, closed or commented on, or with propose.pause_after = 0"
    )


def test_a_run_that_is_paused_ends_well_and_says_why(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With whatever it is told by: one document, and a line in the summary of the step."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    monkeypatch.setattr(roles, "SIMULATIONS", frozenset())
    monkeypatch.setenv("SKILLOPT_PROPOSE_PAUSE_AFTER", "1")
    night.first(PNPM)
    night()

    told = invoke("run", "--pr")

    assert list(told) == ["v", "skipped"]
    assert f"paused: {hub.pulls[1].url} was left alone for 1 night, since" in told["skipped"]
    assert (tmp_path / "summary").read_text() == f"skipped: {told['skipped']}\n"


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_branches_alone_and_simulations_are_never_paused(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """Nobody is asked about a branch that stays here, and a simulation asks no model."""
    sessions(home, repo, PNPM)
    flags: dict[str, Any] = {"propose.pause_after": 1}
    night(**flags)
    night(**flags)
    with pytest.raises(Skipped):
        night(never, **flags)
    repo.commit("Soon", {".skillopt.toml": "[propose]\npause_after = 1\n"})

    assert invoke("run")["simulated"]
    assert invoke("run", "--pr")["simulated"]
    assert night(local=True, **flags).record["night"] == 3


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_refusal_by_a_verb_ends_a_pause(repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run) -> None:
    """Though the pull request is still open: it is closed by the night that goes on."""
    sessions(home, repo, PNPM)
    flags: dict[str, Any] = {"propose.pause_after": 1}
    branch = night(**flags).record["branch"]
    night(**flags)
    assert night(local=True, **flags).record["night"] == 3
    with pytest.raises(Skipped):
        night(never, **flags)

    invoke("reject", branch, "--local", "--reason", "no")

    assert night(**flags).record["night"] == 4
    assert hub.pulls[1].state == "closed"


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_nights_in_two_jobs_count_too_and_what_a_bundle_says_of_it_does_not(
    repo: Repository, home: Path, hub: Hub, night: Night, tmp_path: Path, invoke: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job that learns cannot see the pull request; the one that proposes notes what it found."""
    monkeypatch.setenv("SKILLOPT_PROPOSE_PAUSE_AFTER", "2")
    night.first(PNPM)
    for count in (1, 2):
        path = tmp_path / f"{count}.json"
        night(bundle=path)
        record = json.loads(path.read_text())
        next(item for item in record["events"] if item["type"] == "run")["data"]["found"] = {"mark": "forged"}
        path.write_text(json.dumps(record))
        assert invoke("sync")["paused"] is None
        invoke("propose", str(path))
        invoke("propose", str(path))

    assert "was left alone for 2 nights" in invoke("sync")["paused"]
    hub.approved(1)
    assert invoke("sync")["paused"] is None


# --- in two jobs -------------------------------------------------------------------------------------------------


def test_what_a_bundle_brings_is_what_a_run_would_have_made(
    repo: Repository, home: Path, hub: Hub, night: Night, tmp_path: Path, invoke: Run
) -> None:
    """Learning writes nothing but the file; who proposes it needs no model. Again is the same."""
    sessions(home, repo, PNPM)
    refs = repo.git("for-each-ref")
    path = tmp_path / "night.json"

    ran = night(bundle=path)

    assert repo.git("for-each-ref") == refs
    assert ran.record["verdict"] == "strong"
    bundle = read_bundle(path)
    assert [event.text for event in bundle.proposed] == [RULE]
    assert "lodash" not in path.read_text()  # no word of what was typed

    told = invoke("propose", str(path))

    assert told["operation"] == "created"
    assert hub.pulls[1].title == f"Learn: {RULE}"
    assert f"- {RULE}\n" in taught(repo, hub.pulls[1].head)
    assert [(item["recorded"], item["problems"]) for item in invoke("verify", "--local")["edits"]] == [("strong", [])]
    hub.writes.clear()
    assert invoke("propose", str(path))["operation"] == "none"
    assert hub.writes == []


# --- people and nights at the same time --------------------------------------------------------------------------


def brought(night: Night, tmp_path: Path, name: str = "night.json", *, varies: bool = False) -> Path:
    path = tmp_path / name
    night(bundle=path, varies=varies)
    return path


def test_a_trial_goes_on_from_bundle_to_bundle(
    repo: Repository, home: Path, hub: Hub, night: Night, tmp_path: Path, invoke: Run
) -> None:
    """The second counts what the first measured, as the ledger has it; then the draft is ready."""
    repo.commit("Few rollouts", {".skillopt.toml": "[gate]\nrollouts = 2\n"})
    repo.git("push", "--quiet", "origin", "main")
    sessions(home, repo, PNPM)
    invoke("propose", str(brought(night, tmp_path, "first.json", varies=True)))
    assert hub.pulls[1].draft

    second = brought(night, tmp_path, "second.json", varies=True)
    told = invoke("propose", str(second))

    (evidence,) = read_bundle(second).evidence
    assert len({row.night for row in evidence.tasks}) == 2
    assert (told["operation"], hub.pulls[1].draft) == ("updated", False)
    assert [(item["recorded"], item["problems"]) for item in invoke("verify", "--local")["edits"]] == [("strong", [])]


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize("how", ["closed", "merged"])
def test_what_never_stood_on_a_page_is_not_decided_with_it(
    how: str, repo: Repository, home: Path, hub: Hub, night: Night, tmp_path: Path, invoke: Run
) -> None:
    """A person decides about the first rule while a second one is being learned: the second comes by a later night."""
    night.first(PNPM)
    sessions(home, repo, [*PNPM, *TICKET])
    path = brought(night, tmp_path)
    hub.closed(1) if how == "closed" else hub.merged(1, how="squash")

    told = invoke("propose", str(path))

    assert any("has to wait" in note for note in told["notes"])
    assert {rule for _, rule, _ in outcomes(invoke)} == {RULE}
    assert len(hub.pulls) == 1
    assert OTHER in [item["text"] for item in night().record["edits"]]


def test_a_branch_is_not_moved_after_its_pull_request_was_closed(
    repo: Repository, home: Path, hub: Hub, night: Night, monkeypatch: pytest.MonkeyPatch, invoke: Run
) -> None:
    """Closed between the last look and the push: it could never be opened again."""
    branch = night.first(PNPM).record["branch"]
    tip = hub.tip(branch)
    sessions(home, repo, [*PNPM, *TICKET])
    unbroken = outside.bring

    def meanwhile(*args: Any, **named: Any) -> Any:
        hub.closed(1)
        return unbroken(*args, **named)

    monkeypatch.setattr("skillopt_git.nightly.bring", meanwhile)
    night()
    monkeypatch.undo()
    monkeypatch.setattr(wiring, "forge", lambda *_, **__: hub)

    assert hub.tip(branch) == tip
    invoke("sync")
    assert {(kind, rule) for kind, rule, _ in outcomes(invoke)} >= {("rejected", RULE)}
    assert ("rejected", OTHER) not in {(kind, rule) for kind, rule, _ in outcomes(invoke)}


@pytest.mark.parametrize("how", ["pushed", "pruned"])
def test_a_refusal_is_heard_though_git_alone_saw_the_branch_go(
    how: str, repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """Closed and cleaned up, as people do; whoever asks the forge later still hears why."""
    branch = night.first(PNPM).record["branch"]
    hub.closed(1)
    hub.server.git("update-ref", "-d", f"refs/heads/{branch}")
    if how == "pushed":
        invoke("ledger", "push")
    else:
        repo.git("branch", "--quiet", "-D", branch)
        repo.git("fetch", "--quiet", "--prune", "origin")

    again = night()

    assert ("rejected", RULE) in {(kind, rule) for kind, rule, _ in outcomes(invoke)}
    assert again.record["edits"] == []
    assert len(hub.pulls) == 1


def test_an_approval_given_while_a_night_learned_is_kept(
    repo: Repository, home: Path, hub: Hub, night: Night, tmp_path: Path, invoke: Run
) -> None:
    branch = night.first(PNPM).record["branch"]
    tip = hub.tip(branch)
    sessions(home, repo, [*PNPM, *TICKET])
    path = brought(night, tmp_path)
    hub.approved(1)

    invoke("propose", str(path))

    assert hub.tip(branch) == tip


def test_a_box_that_is_cleared_on_an_approved_page_moves_no_branch(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """It is refused all the same; the branch follows when the approval is gone."""
    branch = night.first([*PNPM, *TICKET]).record["branch"]
    tip = hub.tip(branch)
    hub.approved(1)
    edit = next(item["id"] for item in invoke("status")["open"][0]["edits"] if item["text"] == OTHER)
    hub.edited(1, f"- [x] <!-- skillopt:edit={edit}", f"- [ ] <!-- skillopt:edit={edit}")

    night()

    assert hub.tip(branch) == tip
    assert ("rejected", OTHER) in {(kind, rule) for kind, rule, _ in outcomes(invoke)}


def test_pull_requests_to_other_branches_decide_nothing(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    """Opened by mistake and closed, or a backport: ours stays open, and so does the backport."""
    branch = night.first(PNPM).record["branch"]
    hub.pulls[2] = replace(hub.pulls[1], number=2, base="develop", ours=False, body="")
    hub.told[2] = []
    hub.closed(2)

    night()

    assert outcomes(invoke) == []
    assert hub.pulls[1].state == "open"
    hub.pulls[3] = replace(hub.pulls[1], number=3, base="release", ours=False)
    hub.told[3] = []
    hub.merged(1)
    night()
    assert hub.pulls[3].state == "open"
    assert hub.tip(branch)


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_what_a_bot_closed_and_a_person_opened_again_stays_open(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    night.first(PNPM)
    hub.closed(1, STALE)
    invoke("sync")
    hub.labeled(1, "skillopt:expired")
    hub.reopened(1)

    for _ in range(2):
        night()

    assert hub.pulls[1].state == "open"
    assert "skillopt:expired" not in hub.pulls[1].labels
    assert [item["branch"] for item in invoke("status")["open"]] == [hub.pulls[1].head]


def test_a_forge_that_is_gone_after_learning_costs_no_night(
    repo: Repository, home: Path, hub: Hub, night: Night, monkeypatch: pytest.MonkeyPatch, invoke: Run
) -> None:
    """It is recorded, and its report kept; the pull request comes with the next."""
    sessions(home, repo, PNPM)
    unbroken, asked = Hub.find, iter(range(100))

    def once(self: Hub, prefix: str) -> Any:
        if next(asked):
            raise ForgeError("network", "no answer", retryable=True)
        return unbroken(self, prefix)

    monkeypatch.setattr(Hub, "find", once)
    first = night()
    monkeypatch.setattr(Hub, "find", unbroken)

    assert first.exit_code == 75
    assert invoke("status")["runs"] == 1
    assert invoke("show", "--last")["run"] == first.record["run"]
    assert night().record["pull_request"]["number"] == 1


def test_words_of_people_are_no_markup_in_a_comment(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    branch = night.first(PNPM).record["branch"]

    invoke("reject", branch, "--reason", "<img src=x> @org/team fixes #9")

    said = hub.comments[1, "settled"]
    assert "\\<img" in said
    assert "@org" not in said
    assert "#9" not in said


def test_a_bundle_is_brought_again_where_it_broke_off(
    repo: Repository, home: Path, hub: Hub, night: Night, tmp_path: Path, invoke: Run
) -> None:
    """The forge was down after the push: again is no error, and opens it."""
    sessions(home, repo, PNPM)
    path = brought(night, tmp_path)
    hub.refused["create"] = ForgeError("network", "no answer", retryable=True)
    invoke("propose", str(path), code=75)
    hub.refused.clear()

    assert invoke("propose", str(path))["operation"] == "created"


def test_of_two_nights_that_found_the_same_one_opens(
    repo: Repository, home: Path, hub: Hub, night: Night, tmp_path: Path, invoke: Run
) -> None:
    sessions(home, repo, PNPM)
    path = brought(night, tmp_path)
    night()

    told = invoke("propose", str(path))

    assert len(hub.pulls) == 1
    assert any("has to wait" in note for note in told["notes"])


def test_what_a_colleague_closed_is_not_merged_unknowingly(
    repo: Repository, home: Path, hub: Hub, night: Night, invoke: Run
) -> None:
    branch = night.first(PNPM).record["branch"]
    hub.closed(1)

    assert "was closed" in invoke("adopt", branch, code=2)["error"]["message"]
    assert invoke("adopt", branch, "--local")["commit"]


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_pause_that_came_while_a_night_learned_loses_nothing(
    repo: Repository, home: Path, hub: Hub, night: Night, tmp_path: Path, invoke: Run
) -> None:
    """The night is recorded; what it found is proposed when the pause is over."""
    night.first(PNPM)
    sessions(home, repo, [*PNPM, *TICKET])
    path = brought(night, tmp_path)
    hub.labeled(1, "skillopt:pause")

    told = invoke("propose", str(path))

    assert told["operation"] == "held"
    assert hub.pulls[1].title == f"Learn: {RULE}"
    hub.unlabel(1, "skillopt:pause")
    night()
    assert hub.pulls[1].title == f"Learn: {RULE} (and 1 more)"
