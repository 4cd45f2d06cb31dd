"""The rig's runner: a workflow runs on this machine, against the rig, with only what its jobs were given."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.rig.accounts import ALICE, ROBOT
from tests.rig.frontdoor import FrontDoor
from tests.rig.runner import Asked, Runner

NIGHTLY = """
on:
  workflow_dispatch:
    inputs:
      word: {type: string}
jobs:
  learn:
    runs-on: ubuntu-24.04
    outputs:
      sha: ${{ steps.look.outputs.sha }}
    steps:
      - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2
        with:
          persist-credentials: false
      - uses: actions/setup-python@a309ff8b426b58ec0e2a45f0f869d46889d02405 # v6.2.0
      - id: look
        env:
          KEY: ${{ secrets.MODEL_KEY }}
        run: |
          test -f README.md
          git config --list --show-origin | grep -i extraheader && exit 1
          git push origin HEAD:refs/heads/stolen && exit 1
          test -z "$MODEL_KEY$GITHUB_TOKEN"
          echo "the key is $KEY"
          test "$(git rev-parse HEAD)" = "${{ github.sha }}"
          echo "sha=${{ github.sha }}" >> "$GITHUB_OUTPUT"
          echo "# Learned" >> "$GITHUB_STEP_SUMMARY"
          mkdir bundle
      - uses: ./actions/say
        with:
          word: ${{ inputs.word }}
      - uses: actions/upload-artifact@b7c566a772e6b6bfb58ed0dc250532a479d7789f # v6.0.0
        with:
          name: bundle
          path: bundle
  propose:
    needs: learn
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2
        with:
          fetch-depth: 0
      - uses: actions/download-artifact@37930b1c2abaa49bbe596cd826c3c89aef350131 # v7.0.0
        with:
          name: bundle
          path: from-the-other-job
      - id: push
        env:
          TOKEN: ${{ github.token }}
          SHA: ${{ needs.learn.outputs.sha }}
        run: |
          git config user.name robot && git config user.email robot@example.invalid
          git switch --quiet --create sleep/1
          git commit --quiet --allow-empty -m "$(cat from-the-other-job/word)"
          test "$(git rev-parse HEAD~)" = "$SHA"
          git push --quiet origin sleep/1
          python - <<'PYTHON'
          import os, urllib.request
          url = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/pulls"
          body = b'{"title": "Learned", "head": "sleep/1", "base": "main"}'
          urllib.request.urlopen(urllib.request.Request(url, body, {"Authorization": f"Bearer {os.environ['TOKEN']}"}))
          PYTHON
          echo "event=${{ github.event_name }}" >> "$GITHUB_OUTPUT"
"""
SAY = """
name: say
inputs:
  word: {required: true}
outputs:
  said: {value: "${{ steps.say.outputs.said }}"}
runs:
  using: composite
  steps:
    - uses: actions/setup-python@a309ff8b426b58ec0e2a45f0f869d46889d02405 # v6.2.0
    - id: say
      shell: bash
      env:
        WORD: ${{ inputs.word }}
      run: |
        mkdir -p bundle && echo "$WORD" > bundle/word
        echo "said=$WORD" >> "$GITHUB_OUTPUT"
"""
CLOSED = """
on: pull_request
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - id: mine
        uses: acme/mine@v1
        with:
          word: ${{ github.event.pull_request.title }}
      - run: echo ${{ steps.mine.outputs.said }} there
"""
SECRETS = {"GITHUB_TOKEN": ROBOT.token, "MODEL_KEY": "a-key-to-a-model-0815"}


def workflow(folder: Path, text: str) -> Path:
    path = folder / "workflow.yml"
    path.write_text(text)
    return path


def one_step(script: str) -> str:
    steps = f"steps: [{{id: only, env: {{KEY: '${{{{ secrets.MODEL_KEY }}}}'}}, run: '{script}'}}]"
    return f"on: [workflow_dispatch, schedule]\njobs: {{one: {{runs-on: ubuntu-24.04, {steps}}}}}\n"


def alive(pid: str) -> bool:
    done = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False)
    return done.stdout.strip()[:1] not in {"", "Z"}


def test_a_workflow_runs_against_the_rig(hub: FrontDoor, act: Runner, tmp_path: Path) -> None:
    """It clones, hands files from job to job, pushes, and opens a pull request; its outputs and pages can be read."""
    clone = hub.clone("acme/api", tmp_path / "clone", ALICE)
    clone.commit("Nightly", {".github/workflows/nightly.yml": NIGHTLY, "actions/say/action.yml": SAY})
    clone.git("push", "--quiet", "origin", "main")
    asked = Asked(inputs={"word": "Learn two"}, secrets=SECRETS)

    ran = act.run(clone.path / ".github/workflows/nightly.yml", hub.url, asked)

    assert ran.code == 0, "\n".join(ran.lines)
    assert ran.jobs == {"learn": "success", "propose": "success"}
    made = hub.api(ALICE)("GET", "/repos/acme/api/pulls").json
    assert [(one["head"]["ref"], one["user"]["login"]) for one in made] == [("sleep/1", ROBOT.login)]
    assert hub.api(ALICE)("GET", "/repos/acme/api/commits/sleep%2F1").json["commit"]["message"].strip() == "Learn two"
    assert ran.outputs["learn.look.sha"] == made[0]["base"]["sha"]
    assert ran.outputs["propose.push.event"] == "workflow_dispatch"
    assert ran.summary == "# Learned\n"
    assert (ran.artifacts / "bundle" / "word").read_text() == "Learn two\n"
    assert hub.api(ALICE)("GET", "/repos/acme/api/branches/stolen").status == 404


def test_a_secret_is_masked_where_it_is_printed(hub: FrontDoor, act: Runner, tmp_path: Path) -> None:
    """As it is, but not in the form that git sends: that is found."""
    ran = act.run(workflow(tmp_path, one_step('echo "key $KEY"')), hub.url, Asked(secrets=SECRETS))
    assert "key ***" in ran.printed
    assert ran.leaks == []

    script = 'printf "x-access-token:%s" "$KEY" | base64'
    ran = act.run(workflow(tmp_path, one_step(script)), hub.url, Asked(secrets=SECRETS))
    assert ran.printed[0] in ran.leaks


def test_a_step_that_fails_fails_the_run(hub: FrontDoor, act: Runner, tmp_path: Path) -> None:
    """With its exit code's meaning, and what it said."""
    ran = act.run(workflow(tmp_path, one_step("echo so far; exit 3")), hub.url, Asked(event="schedule"))

    assert ran.code == 1
    assert ran.jobs == {"one": "failure"}
    assert ran.printed == ["so far"]
    assert "exit status 3" in ran.lines


def test_a_wrong_token_ends_the_checkout(hub: FrontDoor, act: Runner, tmp_path: Path) -> None:
    """Nothing is cloned, and git's own words are in the log without the token."""
    checkout = "steps: [{uses: actions/checkout@v6}, {run: echo never}]"
    text = f"on: workflow_dispatch\njobs: {{one: {{runs-on: ubuntu-24.04, {checkout}}}}}\n"
    ran = act.run(workflow(tmp_path, text), hub.url, Asked(secrets={"GITHUB_TOKEN": "wrong-token-4711"}))

    assert ran.code == 1
    assert ran.jobs == {"one": "failure"}
    assert "could not read Username" in "\n".join(ran.printed)
    assert "never" not in ran.printed
    assert ran.leaks == []


def test_an_action_without_a_stand_in_is_named(act: Runner, tmp_path: Path) -> None:
    """Nothing is fetched from elsewhere, whatever a workflow says."""
    with pytest.raises(AssertionError, match="no stand-in for actions/labeler@v5"):
        act.run(workflow(tmp_path, "jobs: {x: {steps: [{uses: actions/labeler@v5}]}}"), "http://127.0.0.1:1", Asked())


def test_an_action_of_ones_own_is_used_from_its_folder(act: Runner, tmp_path: Path) -> None:
    """Composite, with inputs and outputs, under the name that others will use, and told of the event."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "action.yml").write_text(SAY)
    asked = Asked(
        event="pull_request",
        payload={"action": "closed", "pull_request": {"title": "hello"}},
        replaced={"acme/mine@v1": tmp_path / "mine"},
    )
    ran = act.run(workflow(tmp_path, CLOSED), "http://127.0.0.1:1", asked)

    assert ran.printed[-1] == "hello there"


def test_a_workflow_that_hangs_is_ended(act: Runner, tmp_path: Path) -> None:
    """With everything that it started."""
    script = 'sleep 300 & echo $$ $! > "$RIG_ARTIFACTS/started"; wait'
    with pytest.raises(subprocess.TimeoutExpired):
        act.run(workflow(tmp_path, one_step(script)), "http://127.0.0.1:1", Asked(), longest=2)

    (started,) = act.folder.glob("run-*/artifacts/started")
    pids = started.read_text().split()
    assert len(pids) == 2
    until = time.monotonic() + 10
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < until
        time.sleep(0.05)
