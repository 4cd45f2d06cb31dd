"""What a commit of one learned document costs in a large repository, against the bare plumbing commands: at most twice.

Both write a blob, record a commit on the base through an index of their own, and move a branch. They take turns, so
that a busy machine slows down both alike.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from skillopt_git.gitrepo import GitRepo, Identity

FILES, ROUNDS, AIM = 20_000, 15, 2.0
SKILL = ".claude/skills/skillopt-sleep-learned/SKILL.md"
AUTHOR = Identity("skillopt-git", "skillopt-git@users.noreply.invalid")


def large(path: Path, files: int) -> GitRepo:
    """A repository whose one commit has that many files, fifty to a folder."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(path)], check=True)
    subprocess.run(["git", "-C", str(path), "fast-import", "--quiet"], input=b"".join(_stream(files)), check=True)
    return GitRepo.open(path)


def _stream(files: int) -> Iterator[bytes]:
    yield b"commit refs/heads/main\ncommitter Alice <alice@example.invalid> 1700000000 +0000\ndata 5\nStart\n"
    for number in range(files):
        text = f"line {number}\n".encode()
        folder = f"src/part{number // 2500}/module{number // 50}"
        yield f"M 100644 inline {folder}/file{number}.py\ndata {len(text)}\n".encode() + text + b"\n"


def ours(repo: GitRepo, base: str, text: bytes, ref: str) -> None:
    """As `publish` does it."""
    change = {SKILL: ("100644", repo.write_blob(text))}
    when = datetime.fromtimestamp(1_700_000_000, UTC)
    commit = repo.commit(parent=base, changes=change, message="Learn\n", author=AUTHOR, when=when)
    repo.update_ref(ref, commit, None, "benchmark")


def bare(repo: GitRepo, base: str, text: bytes, ref: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "GIT_INDEX_FILE": f"{folder}/index"}
        environ |= {f"GIT_{who}_NAME": AUTHOR.name for who in ("AUTHOR", "COMMITTER")}
        environ |= {f"GIT_{who}_EMAIL": AUTHOR.email for who in ("AUTHOR", "COMMITTER")}

        def git(*words: str, data: bytes = b"") -> str:
            done = subprocess.run(
                ["git", *words], cwd=repo.root, env=environ, input=data, capture_output=True, check=True
            )
            return done.stdout.decode().strip()

        blob = git("hash-object", "-w", "--stdin", data=text)
        git("read-tree", base)
        git("update-index", "--index-info", data=f"100644 {blob}\t{SKILL}\n".encode())
        tree = git("write-tree")
        git("update-ref", ref, git("commit-tree", "-p", base, "-F", "-", tree, data=b"Learn\n"), repo.zero)


def seconds(work: Callable[[GitRepo, str, bytes, str], None], repo: GitRepo, base: str, number: int) -> float:
    text = f"- Rule {number} of {work.__name__}\n".encode()
    began = time.perf_counter()
    work(repo, base, text, f"refs/heads/{work.__name__}{number}")
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        repo = large(Path(folder, "acme-api"), given.files)
        base = repo.resolve("refs/heads/main") or ""
        rounds = [
            (seconds(bare, repo, base, number), seconds(ours, repo, base, number)) for number in range(given.rounds + 1)
        ][1:]  # the first round fills the caches
    plumbing, product = (median(times) * 1000 for times in zip(*rounds, strict=True))
    ratio = median(our / their for their, our in rounds)
    print(f"{given.files} files: plumbing {plumbing:.1f} ms, skillopt-git {product:.1f} ms (medians of {given.rounds})")
    print(f"ratio {ratio:.2f}x; the aim is at most {AIM:.0f}x")


if __name__ == "__main__":
    main()
