"""Repositories over smart HTTP: git's own `http-backend`, behind tokens and protected branches with GitHub's words."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers import Repository
from tests.rig.accounts import Account, UnknownToken, who
from tests.rig.loopback import Answer, Request

_SMART = re.compile(r"/(?P<name>[\w.-]+/[\w.-]+?)(?:\.git)?/(?P<call>info/refs|git-upload-pack|git-receive-pack)")
_SIGN_IN = "Invalid username or token. Password authentication is not supported for Git operations.\n"
_PASSED_ON = {"Content-Type": "CONTENT_TYPE", "Git-Protocol": "GIT_PROTOCOL"}

# Each ref for itself, as on GitHub: one that is refused does not keep the others from moving.
_UPDATE = r"""#!/bin/sh
while read -r refused; do
    case "$1" in $refused)
        echo "error: GH006: Protected branch update failed for $1." >&2
        echo >&2
        echo "- Changes must be made through a pull request." >&2
        exit 1 ;;
    esac
done < "$GIT_DIR/protected"
"""


def _nobody_listens(name: str, account: Account) -> None:
    del name, account


@dataclass(slots=True)
class GitServer:
    """Bare repositories below `root`. `pushed` is told whose push to which repository was answered by git."""

    root: Path
    pushed: Callable[[str, Account], None] = _nobody_listens
    _public: set[str] = field(default_factory=set)

    def create(self, name: str, *, public: bool = False, start: Repository | None = None) -> Repository:
        """`name` is OWNER/REPO. It has the branches of `start`, else none."""
        made = Repository(self.path(name))
        made.path.mkdir(parents=True)
        made.git("init", "--quiet", "--bare", "--initial-branch=main")
        made.git("config", "http.receivepack", "true")
        made.git("config", "uploadpack.allowAnySHA1InWant", "true")  # as on GitHub
        if start is not None:
            made.git("fetch", "--quiet", str(start.path), "refs/heads/*:refs/heads/*")
        hook = made.path / "hooks" / "update"
        hook.write_text(_UPDATE)
        hook.chmod(0o755)
        self.protect(name)
        self._public |= {name} if public else set()
        return made

    def path(self, name: str) -> Path:
        return self.root / f"{name}.git"

    def is_public(self, name: str) -> bool:
        return name in self._public

    def protect(self, name: str, *patterns: str) -> None:
        """From now on a push may not move refs whose full name matches one of these shell patterns."""
        (self.path(name) / "protected").write_text("".join(f"{pattern}\n" for pattern in patterns))

    def hide(self, name: str, prefix: str = "refs/skillopt") -> None:
        """As a server that takes branches and tags only."""
        Repository(self.path(name)).git("config", "receive.hideRefs", prefix)

    def owns(self, request: Request) -> bool:
        return _SMART.fullmatch(request.path) is not None

    def serve(self, request: Request) -> Answer:
        found = _SMART.fullmatch(request.path)
        name = found["name"] if found else ""
        writes = found is not None and "git-receive-pack" in (found["call"], request.query.partition("=")[2])
        try:
            account = who(request.headers)
        except UnknownToken:
            return Answer.text(401, _SIGN_IN, ("WWW-Authenticate", 'Basic realm="GitHub"'))
        if refused := self._refusal(name, account, writes=writes):
            return refused
        answer = _backend(self.root, request, f"/{name}.git/{found['call'] if found else ''}", account)
        if account is not None and request.path.endswith("/git-receive-pack"):
            self.pushed(name, account)
        return answer

    def _refusal(self, name: str, account: Account | None, *, writes: bool) -> Answer | None:
        there = self.path(name).is_dir()
        open_to_all = there and self.is_public(name)
        if account is None:
            anonymous = open_to_all and not writes
            return None if anonymous else Answer.text(401, _SIGN_IN, ("WWW-Authenticate", 'Basic realm="GitHub"'))
        if not there or (account.permission == "none" and not open_to_all):
            return Answer.text(404, "Repository not found.\n")
        if writes and not account.writes:
            return Answer.text(403, f"Permission to {name}.git denied to {account.login}.\n")
        return None


def _backend(root: Path, request: Request, path: str, account: Account | None) -> Answer:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "REQUEST_METHOD": request.method,
        "PATH_INFO": path,
        "QUERY_STRING": request.query,
        "CONTENT_LENGTH": str(len(request.body)),
        "REMOTE_ADDR": "127.0.0.1",
        "REMOTE_USER": account.login if account else "",
    }
    environment |= {_PASSED_ON[name]: value for name, value in request.headers.items() if name in _PASSED_ON}
    done = subprocess.run(["git", "http-backend"], input=request.body, env=environment, capture_output=True, check=True)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    return _parsed(head.decode().splitlines(), body)


def _parsed(lines: Sequence[str], body: bytes) -> Answer:
    pairs = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    status = next((int(value.split()[0]) for name, value in pairs if name == "Status"), 200)
    return Answer(status, tuple(pair for pair in pairs if pair[0] != "Status"), body)
