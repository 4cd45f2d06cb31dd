"""One address with repositories behind it, as tests use it."""

from __future__ import annotations

from pathlib import Path

from tests.helpers import Repository
from tests.rig.accounts import Account, basic
from tests.rig.gitserver import GitServer
from tests.rig.loopback import Fault, Loopback, Request, Serve


class Origin:
    """`git` over HTTP, between `open` and `close`."""

    def __init__(self, git: GitServer, serve: Serve | None = None) -> None:
        self.git = git
        self._loopback = Loopback(serve or git.serve)

    def open(self) -> None:
        self._loopback.start()

    def close(self) -> None:
        """Raises what went wrong inside the rig meanwhile. Closing twice is as closing once."""
        self._loopback.close()
        if self._loopback.broken:
            raise BaseExceptionGroup("the rig is broken", self._loopback.broken)

    @property
    def url(self) -> str:
        return self._loopback.url

    def goes_wrong(self, *faults: Fault) -> None:
        """With the next requests that match, one fault a request, in this order."""
        self._loopback.goes_wrong(*faults)

    def asked(self, pattern: str = "") -> list[str]:
        """The requests so far that match, each as "METHOD /path?query"."""
        return self._loopback.asked(pattern)

    def requests(self) -> tuple[Request, ...]:
        return tuple(self._loopback.log)

    def address(self, name: str, account: Account | None = None) -> str:
        """Where git finds OWNER/REPO; with the token of `account` in it, if one is given."""
        user = f"x-access-token:{account.token}@" if account else ""
        return f"{self.url.replace('://', f'://{user}')}/{name}.git"

    def clone(self, name: str, path: Path, account: Account) -> Repository:
        """A clone whose `origin` is the plain address; git knows the token as it does after `actions/checkout`."""
        made = Repository.create(path, {})
        made.git("config", f"http.{self.url}/.extraHeader", f"Authorization: {basic(account)}")
        made.git("remote", "add", "origin", self.address(name))
        made.git("fetch", "--quiet", "origin")
        made.git("remote", "set-head", "origin", "main")
        made.git("checkout", "--quiet", "-B", "main", "--track", "origin/main")
        return made
