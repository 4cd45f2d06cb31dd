"""What of a home is new, and what will be new the next time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Window:
    """Sessions active at or after `since` (None: all), but for those `read` already.

    `read` gives the digests of sessions and when they were last active: where older sessions were left unread, the
    window reaches back over newer ones. `known` is how far a home was read, where tonight's window is another.
    """

    since: datetime | None = None
    read: Mapping[str, datetime] = field(default_factory=dict)
    known: Window | None = None

    def after(self, now: datetime, read: Mapping[str, datetime], *, left: datetime | None, failed: bool) -> Window:
        """The next window, when `read` was read in this one, which was looked at from `now` on.

        It begins at `now`; but at the oldest that was `left` unread, where this window began if something `failed`
        to be read, and where an earlier one left something before this one began.
        """
        known = self.known or self
        starts = [now]
        if left is not None:
            starts.append(left if self.since is None else max(left, self.since))
        if known.since is not None and self.since is not None and known.since < self.since:
            starts.append(known.since)
        if failed:
            if self.since is None:
                return Window(None, {**known.read, **read})
            starts.append(self.since)
        since = min(starts)
        return Window(since, {digest: last for digest, last in {**known.read, **read}.items() if last >= since})
