"""Copies the branches of a bare repository into the emulator, by its API for git data, and checks every id."""

from __future__ import annotations

import base64
import subprocess
from dataclasses import dataclass, field

from tests.helpers import Repository
from tests.rig.api import Api

_DATES = "%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI"


@dataclass(slots=True)
class Mirror:
    """`there` is what the emulator's repository called `name` was given already."""

    api: Api
    name: str
    git: Repository
    there: set[str] = field(default_factory=set)

    def follow(self) -> dict[str, str]:
        """Makes every branch of the emulator be where git has it, and returns where that is, by branch."""
        heads = branches(self.git)
        for sha in heads.values():
            self._commits(sha)
        known = self.api("GET", f"/repos/{self.name}/git/matching-refs/heads/").json
        before = {ref["ref"].removeprefix("refs/heads/"): ref["object"]["sha"] for ref in known}
        for branch, sha in heads.items():
            if branch not in before:
                self._ask("POST", "git/refs", {"ref": f"refs/heads/{branch}", "sha": sha}, 201)
            elif before[branch] != sha:
                self._ask("PATCH", f"git/refs/heads/{branch}", {"sha": sha, "force": True}, 200)
        for branch in before.keys() - heads.keys():
            self._ask("DELETE", f"git/refs/heads/{branch}", None, 204)
        return heads

    def _commits(self, tip: str) -> None:
        for sha in self.git.git("rev-list", "--topo-order", "--reverse", tip).split():
            if sha not in self.there:
                self._commit(sha)

    def _commit(self, sha: str) -> None:
        shown = self.git.git("log", "-1", f"--format={_DATES}", sha).rstrip("\n").split("\0")
        tree, parents, author, author_mail, authored, committer, committer_mail, committed = shown
        self._tree(tree)
        body = {
            "message": self.git.git("cat-file", "commit", sha).partition("\n\n")[2],
            "tree": tree,
            "parents": parents.split(),
            "author": {"name": author, "email": author_mail, "date": authored},
            "committer": {"name": committer, "email": committer_mail, "date": committed},
        }
        self._make("commits", body, sha)

    def _tree(self, sha: str) -> None:
        if sha in self.there:
            return
        entries = []
        for line in filter(None, self.git.git("ls-tree", "-z", sha).split("\0")):
            meta, path = line.split("\t", 1)
            mode, kind, child = meta.split()
            if kind == "tree":
                self._tree(child)
            elif kind == "blob" and child not in self.there:
                self._blob(child)
            entries.append({"path": path, "mode": mode, "type": kind, "sha": child})
        self._make("trees", {"tree": entries}, sha)

    def _blob(self, sha: str) -> None:
        command = ["git", "cat-file", "blob", sha]
        content = subprocess.run(command, cwd=self.git.path, capture_output=True, check=True).stdout
        self._make("blobs", {"content": base64.b64encode(content).decode(), "encoding": "base64"}, sha)

    def _make(self, kind: str, body: object, sha: str) -> None:
        made = self._ask("POST", f"git/{kind}", body, 201)
        assert made == sha, f"the emulator's {kind} {made} is git's {sha}"
        self.there.add(sha)

    def _ask(self, method: str, path: str, body: object, status: int) -> object:
        reply = self.api(method, f"/repos/{self.name}/{path}", body)
        assert reply.status == status, f"{method} {path}: {reply}"
        return reply.json["sha"] if reply.json and "sha" in reply.json else None


def branches(git: Repository) -> dict[str, str]:
    lines = git.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/").splitlines()
    return {name.removeprefix("refs/heads/"): sha for name, sha in (line.split() for line in lines)}
