"""Asks an API for JSON, with nothing between a test and what was answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from tests.rig.accounts import Account


@dataclass(frozen=True, slots=True)
class Reply:
    """`headers` by their names in lower case; `json` is None for an empty body."""

    status: int
    headers: Mapping[str, str]
    json: Any


@dataclass(frozen=True, slots=True)
class Api:
    """The API at `url`, asked by `account`."""

    url: str
    account: Account | None

    def __call__(self, method: str, path: str, body: object = None) -> Reply:
        token = {"Authorization": f"Bearer {self.account.token}"} if self.account else {}
        line = HTTPConnection(urlsplit(self.url).netloc, timeout=30)
        try:
            line.request(method, path, None if body is None else json.dumps(body), token)
            answer = line.getresponse()
            told = answer.read()
        finally:
            line.close()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, headers, json.loads(told) if told else None)
