"""Errors a user may meet, with the exit code and the `kind` each is reported as.

    SkilloptError                1  internal
    |-- UsageError               2  usage      wrong words on the command line, or nothing to act on
    |-- ConfigError              2  config     settings or files a person wrote
    |-- GitError                 1  process    git refused or failed
    |   `-- RefMoved            75  process    somebody moved a ref meanwhile: try again
    |-- Busy                    75  process    another run holds the lock
    |-- BackendError             1  (the failed call's own kind; 75 where trying again may help)
    |   `-- BudgetSpent          0  budget     a limit was met: what is judged is finished, and nothing new begins
    |-- ForgeError               1  (what the forge refused; 75 where trying again may help)
    |-- HandoffWaits             3  process    prompts wait for somebody to answer them
    |-- MeasurementInvalid       4  invalid    too much was missing to say anything
    |-- Skipped                  0  skipped    nothing was to be done: somebody turned it off
    `-- SafetyError              5  safety     a secret or a forbidden path stood in the way

Nothing to learn, a refused candidate and an unchanged branch are results, never errors.
"""

from __future__ import annotations


class SkilloptError(Exception):
    """What went wrong (`message`), and what to do about it (`hint`, may be empty)."""

    kind = "internal"
    exit_code = 1
    called = "error"  # what it is to people

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SkilloptError):
    kind = "usage"
    exit_code = 2


class ConfigError(SkilloptError):
    kind = "config"
    exit_code = 2


class GitError(SkilloptError):
    kind = "process"


class RefMoved(GitError):
    exit_code = 75


class Busy(SkilloptError):
    kind = "process"
    exit_code = 75


class BackendError(SkilloptError):
    """A model door that is shut: no call can succeed until somebody mends it."""

    def __init__(self, kind: str, message: str, *, retryable: bool, hint: str = "") -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.exit_code = 75 if retryable else 1


class BudgetSpent(BackendError):
    """A limit of the budget has no room for what was to be asked: nothing new begins, and nothing went wrong."""

    def __init__(self, message: str) -> None:
        super().__init__("budget", message, retryable=False)
        self.exit_code = 0


class ForgeError(SkilloptError):
    """A forge that refused. `kind`: auth, forbidden (the hint names the setting), not_permitted (Actions may not open
    pull requests), missing, refused (what was asked makes no sense to it), moved (the head is another one), rate,
    network."""

    def __init__(self, kind: str, message: str, hint: str = "", *, retryable: bool = False) -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.exit_code = 75 if retryable else 1


class Skipped(SkilloptError):
    """Turned off by somebody: nothing went wrong, and nothing is done."""

    kind = "skipped"
    exit_code = 0


class HandoffWaits(SkilloptError):
    """Prompts lie in a folder and nobody has answered them yet: nothing went wrong, and the same command goes on."""

    kind = "process"
    exit_code = 3
    called = "waiting"


class MeasurementInvalid(SkilloptError):
    kind = "invalid"
    exit_code = 4


class SafetyError(SkilloptError):
    kind = "safety"
    exit_code = 5
