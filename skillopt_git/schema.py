"""Records and settings to and from JSON: the only module that knows pydantic.

Every problem of an input is found at once and named by its place in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from skillopt_git.errors import ConfigError
from skillopt_git.ids import canonical_json
from skillopt_git.model import LATER

T = TypeVar("T")


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def _adapter(type_: Any) -> TypeAdapter[Any]:
    """Built once a type: building is the slow part."""
    if type_ not in _ADAPTERS:
        _ADAPTERS[type_] = TypeAdapter(type_)
    return _ADAPTERS[type_]


def _place(loc: Iterable[int | str]) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def problems(type_: type[T], data: bytes) -> list[str]:
    """What is wrong with `data` as a `type_`, one line a problem; empty if nothing is."""
    try:
        _adapter(type_).validate_json(data, strict=True)
    except ValidationError as error:
        return _told(error)
    return []


def _told(error: ValidationError) -> list[str]:
    return [
        f"{_place(item['loc'])}: {item['msg']}" if item["loc"] else item["msg"]
        for item in error.errors(include_url=False, include_input=False)
    ]


def read(type_: type[T], data: bytes | str, *, where: str, hint: str = "") -> T:
    """The value `data` (JSON) holds. Raises `ConfigError` with every problem listed."""
    raw = data.encode() if isinstance(data, str) else data
    try:
        value: T = _adapter(type_).validate_json(raw, strict=True)
    except ValidationError as error:
        raise ConfigError(f"{where} is not valid:\n" + "\n".join(f"  {line}" for line in _told(error)), hint) from None
    return value


@cache
def form(type_: Any) -> str:
    """The JSON schema of a `type_`, as canonical JSON, in the strict form that every provider takes: no reference,
    each field required, and no other. Made once a type, for it goes along with every request."""
    schema = _adapter(type_).json_schema()
    return canonical_json(_strict(schema, schema.get("$defs", {})))


_WORDS_ONLY = frozenset({"$defs", "default", "description", "title"})


def _strict(part: Any, named: Mapping[str, Any]) -> Any:
    if isinstance(part, list):
        return [_strict(item, named) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _strict(named[part["$ref"].rpartition("/")[2]], named)
    strict = {key: _strict(item, named) for key, item in part.items() if key not in _WORDS_ONLY}
    if "properties" in part:
        fields = {name: _strict(item, named) for name, item in part["properties"].items()}
        strict |= {"properties": fields, "required": list(fields), "additionalProperties": False}
    return strict


def dump(value: object) -> Any:
    """`value` as plain JSON data, in the spelling of the records."""
    return _without_later(_adapter(type(value)).dump_python(value, mode="json", by_alias=True))


def _without_later(data: Any) -> Any:
    if isinstance(data, dict):
        told = ((name, item) for name, item in data.items() if name not in LATER or item != LATER[name])
        return {name: _without_later(item) for name, item in told}
    return [_without_later(item) for item in data] if isinstance(data, list) else data
