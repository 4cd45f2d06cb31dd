"""One branch again, where clones that had not met proposed under the same name.

Which of two edits for one wish stays is a function of the ledger alone, so that every clone comes to the same end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from skillopt_git.gitrepo import GitRepo, Identity
from skillopt_git.ledger import Ledger
from skillopt_git.model import Event
from skillopt_git.outcomes import settled
from skillopt_git.publish import publish
from skillopt_git.recall import Proposal, same_wish
from skillopt_git.stamp import Stamp


def rebuild(repo: GitRepo, ledger: Ledger, proposal: Proposal, *, author: Identity, stamp: Stamp) -> Proposal:
    """The branch with just the edits that are still open, each wish answered once; the proposal as it is then."""
    twice = {event.edit: event for event in _twice(proposal, stamp)}
    ledger.append(tuple(twice.values()), when=stamp.now, message=f"Settle what was proposed twice on {proposal.branch}")
    rest = replace(
        proposal, edits=tuple(replace(item, outcome=item.outcome or twice.get(item.edit.id)) for item in proposal.edits)
    )
    _, said = publish(repo, ledger, rest, author=author, stamp=stamp)
    return replace(rest, publications=said or rest.publications)


def _twice(proposal: Proposal, stamp: Stamp) -> Iterator[Event]:
    """Edits of one run that answer a wish which an edit of another run answers before them."""
    for at, item in enumerate(proposal.pending):
        before = [other for other in proposal.pending[:at] if other.event.run != item.event.run]
        if len(proposal.publications) > 1 and any(same_wish(other.edit, item.edit) for other in before):
            yield settled("superseded", item, stamp, reason="another clone proposed it at the same time")
