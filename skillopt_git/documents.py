"""The documents a replay works under, as they are and as edits leave them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from skillopt_git import edits
from skillopt_git.model import Candidate, Document

Documents = tuple[tuple[str, str], ...]  # (path, text), as the model works under them


def existing(documents: Iterable[Document]) -> Documents:
    """The documents the base has. A file that does not exist yet teaches nothing."""
    return tuple(sorted((item.path, item.text) for item in documents if item.blob is not None))


def under(documents: Documents, document: Document, text: str) -> Documents:
    """`documents` with `document` saying `text`."""
    kept = tuple(item for item in documents if item[0] != document.path)
    return tuple(sorted((*kept, (document.path, text))))


def with_accepted(documents: Documents, candidates: Sequence[Candidate]) -> Documents:
    """`documents`, each with all its accepted edits."""
    for document, text in _final_texts(candidates):
        documents = under(documents, document, text)
    return documents


def _final_texts(candidates: Sequence[Candidate]) -> tuple[tuple[Document, str], ...]:
    texts: dict[str, tuple[Document, str]] = {}
    for candidate in candidates:
        if candidate.accepted:
            document, text = texts.get(candidate.document.path, (candidate.document, candidate.document.text))
            texts[document.path] = (document, edits.apply(text, candidate.edits).text)
    return tuple(texts.values())
