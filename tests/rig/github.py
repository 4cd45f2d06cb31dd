"""The emulator of GitHub's API, as the npm package of that version makes it: one process, begun anew for each test."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.rig.accounts import EVERYONE, Account
from tests.rig.api import Api

HERE = Path(__file__).parent
INSTALLED = HERE / "node_modules" / "emulate" / "package.json"
_RIGHTS = {"admin": "admin", "write": "push", "read": "pull"}


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository that is there from the start, as OWNER/REPO."""

    name: str
    public: bool = False

    @property
    def owner(self) -> Account:
        """Who owns it in the emulator; only the rig itself knows this token."""
        login = self.name.partition("/")[0]
        return Account(login, f"token-of-the-rig-for-{login}", "admin")


@dataclass(frozen=True, slots=True)
class GitHub:
    """The process. It ends when its stdin is closed, so that no end of the tests leaves it behind."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls) -> GitHub:
        command = ["node", str(HERE / "emulate.mjs")]
        return cls(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

    def anew(self, repos: Iterable[Repo], base: str) -> str:
        """The address at which it has these repositories and nothing else; its links begin with `base`."""
        repos = tuple(repos)
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"seed": _seed(repos), "base": base}) + "\n")
        stdin.flush()
        url = stdout.readline().strip()
        assert url, "the emulator did not start"
        for repo in repos:
            _let_in(Api(url, repo.owner), repo)
        return url

    def stop(self) -> None:
        self.process.communicate(timeout=20)


def _seed(repos: Iterable[Repo]) -> dict[str, object]:
    people = {account.login: account for account in (*EVERYONE, *(repo.owner for repo in repos))}
    return {
        "tokens": {one.token: {"login": one.login, "scopes": ["repo"]} for one in people.values()},
        "github": {
            "users": [{"login": login} for login in people],
            "repos": [
                {
                    "owner": repo.owner.login,
                    "name": repo.name.partition("/")[2],
                    "private": not repo.public,
                    "auto_init": False,
                }
                for repo in repos
            ],
        },
    }


def _let_in(api: Api, repo: Repo) -> None:
    for account in EVERYONE:
        if account.permission != "none":
            body = {"permission": _RIGHTS[account.permission]}
            done = api("PUT", f"/repos/{repo.name}/collaborators/{account.login}", body)
            assert done.status == 201, done
