"""What models are asked, in words: the shipped templates, and a repository's own in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from skillopt_git import render
from skillopt_git.errors import ConfigError

PROMPT_ENDING = ".md.j2"


@dataclass(frozen=True, slots=True)
class Prompts:
    """`own` are the repository's templates, by name. What is foreign among the values must come fenced."""

    own: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = sorted(self.own.keys() - render.shipped_prompts().keys())
        if unknown:
            known = ", ".join(sorted(render.shipped_prompts()))
            raise ConfigError(f"there is no prompt {', '.join(unknown)}", f"known: {known}")

    @property
    def texts(self) -> Mapping[str, str]:
        """Every template by name, in the order of the names."""
        return dict(sorted({**render.shipped_prompts(), **self.own}.items()))

    @property
    def digest(self) -> str:
        """Changes when a template does: an answer to other words is another answer."""
        return _digest(self.texts)

    def digest_of(self, *names: str) -> str:
        """Changes when one of these templates does."""
        return _digest({name: self.texts[name] for name in names})

    def __call__(self, name: str, **values: object) -> str:
        """Raises `ConfigError` where a repository's template fails."""
        return render.worded(name, self.texts[name], values)


def _digest(texts: Mapping[str, str]) -> str:
    return sha256("\0".join(f"{name}\0{text}" for name, text in texts.items()).encode()).hexdigest()[:16]


SHIPPED = Prompts()
