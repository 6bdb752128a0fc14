"""Progress on stderr: a line that is drawn anew on a terminal, a line now and then in a log.

The lines say what those of ``conclave`` say, in the same form (cmd/internal/cli/progress.go).
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from conclave_train.errors import Interrupted

SECONDS_BETWEEN_LINES = 30.0
SECONDS_BETWEEN_DRAWINGS = 0.1
SETTLED = 0.5
"""Seconds after which a rate means something."""

CLEAR = "\r\x1b[K"
"""Empties the line of a terminal and goes to its beginning."""

_asked: list[Callable[[], bool]] = []
_drawn: list[Progress] = []
"""The one whose line stands on the terminal."""


@contextmanager
def ends_when(asked: Callable[[], bool]) -> Iterator[None]:
    """Meanwhile each phase that has a progress ends with Interrupted once ``asked`` says yes.

    Phases that save what they did ask for themselves (``saves``).
    """
    _asked.append(asked)
    try:
        yield
    finally:
        _asked.pop()


class Progress:
    """Counts units of work; shows how many are done, of how many, the rate, the time left, and what else it is told.

    Work that is stopped ends at the next tick, unless it ``saves`` its state and asks by itself.
    """

    def __init__(
        self, label: str, total: int, unit: str, done: int = 0, quiet: bool = False, saves: bool = False
    ) -> None:
        self.label, self.total, self.unit, self.done, self.begun = label, total, unit, done, done
        self.saves = saves
        self.note = ""
        self.started = self.last = time.monotonic()
        self.quiet = quiet
        self.terminal = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.quiet:
            clear()
            if kind is None:
                print(self._ended(time.monotonic() - self.started), file=sys.stderr, flush=True)

    def tick(self, count: int = 1, note: str = "") -> None:
        """``count`` more units are done; ``note`` is for instance the loss."""
        self.done += count
        self.note = note or self.note
        if not self.saves and self.done < self.total and _asked and _asked[-1]():
            raise Interrupted(
                f"stopped while {self.label}, after {self.done} of {self.total} {self.unit}; the same command goes on"
            )
        now = time.monotonic()
        if self.quiet or now - self.last < (SECONDS_BETWEEN_DRAWINGS if self.terminal else SECONDS_BETWEEN_LINES):
            return
        self.last = now
        line = self.describe(now - self.started)
        if self.terminal:
            line = CLEAR + line[: shutil.get_terminal_size().columns - 1]
            _drawn[:] = [self]
        print(line, file=sys.stderr, end="" if self.terminal else "\n", flush=True)

    def describe(self, took: float) -> str:
        """How far it is after so many seconds: "encoding base  256 of 1,500 passages, 64/s, 19s left"."""
        text = f"{self.label}  {self.done:,} of {self.total:,} {self.unit}"
        if took >= SETTLED and self.done > self.begun:
            rate = (self.done - self.begun) / took
            text += f", {per_second(rate)}"
            if self.total > self.done:
                text += f", {clock((self.total - self.done) / rate)} left"
        return text + self._noted()

    def _ended(self, took: float) -> str:
        text = f"{self.label}: {self.done:,} {self.unit} in {clock(took)}"
        if took > SETTLED:
            text += f" ({per_second((self.done - self.begun) / took)})"
        return text + self._noted()

    def _noted(self) -> str:
        return f", {self.note}" if self.note else ""


def per_second(rate: float) -> str:
    """A rate; slow ones keep a decimal."""
    return f"{rate:.1f}/s" if rate < 10 else f"{int(rate):,}/s"


def clock(seconds: float) -> str:
    """Seconds, as 16s, 1m5s or 8h19m0s."""
    s = int(seconds + 0.5)
    if s < 60:
        return f"{s}s"
    return f"{s // 3600}h{s // 60 % 60}m{s % 60}s" if s >= 3600 else f"{s // 60}m{s % 60}s"


def clear() -> None:
    """Remove the line that stands on the terminal, if any."""
    if _drawn:
        _drawn.clear()
        print(CLEAR, file=sys.stderr, end="", flush=True)


def say(text: str) -> None:
    """A line for people, on stderr, above what is shown."""
    clear()
    print(text, file=sys.stderr, flush=True)
