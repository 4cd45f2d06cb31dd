"""JSON of known shapes, read and written quickly: the only module that knows msgspec.

What it takes is right; what it does not take, `schema` can explain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar, get_type_hints

import msgspec

T = TypeVar("T")

decode = msgspec.json.Decoder().decode


class Shape(msgspec.Struct, frozen=True, gc=False):
    """A small value. Of an object that is read as one, only the fields that it names are looked at."""


def decoder(shape: type[T]) -> Callable[[bytes], T]:
    """Reads the one object on a line. Raises `ValueError` (or `RecursionError`) where it is not of that shape."""
    return msgspec.json.Decoder(shape).decode


def exactly(record: type[T]) -> Callable[[bytes], T]:
    """Reads a record of the dataclass `record`, with no other fields. Raises as `decoder` does."""
    hints = get_type_hints(record)
    told: list[Field[Any]] = list(fields(record))  # type: ignore[arg-type]
    named = [(item.name, hints[item.name], *_default(item)) for item in told]
    strict = msgspec.defstruct(record.__name__, named, forbid_unknown_fields=True, kw_only=True)
    read = msgspec.json.Decoder(strict).decode
    return lambda data: record(**msgspec.structs.asdict(read(data)))


def _default(item: Field[Any]) -> tuple[Any, ...]:
    if item.default_factory is not MISSING:
        return (msgspec.field(default_factory=item.default_factory),)
    return () if item.default is MISSING else (item.default,)


def fits(value: object, record: type) -> bool:
    """Whether plain data is a `record`; more fields than that has are no harm."""
    try:
        msgspec.convert(value, record, strict=True)
    except (ValueError, RecursionError):
        return False
    return True


# --- values of our own -------------------------------------------------------------------------------------------


def pack(value: object) -> bytes:
    """JSON of a frozen value."""
    return msgspec.json.encode(value)


def unpack(data: bytes, type_: type[T]) -> T:
    """Raises `ValueError` for anything that is not JSON of a `type_`."""
    try:
        return msgspec.json.decode(data, type=type_)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
