"""Progress on stderr: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from tqdm import tqdm

from conclave_train.errors import Interrupted

SECONDS_BETWEEN_LINES = 30.0

_asked: list[Callable[[], bool]] = []


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
    """Counts units of work; shows how many are done, the rate, the time left, and what else it is told.

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
        self.bar: Any = None
        if sys.stderr.isatty() and not quiet:
            self.bar = tqdm(total=total, initial=done, desc=label, unit=unit, file=sys.stderr, dynamic_ncols=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.close()
        elif kind is None:
            self._line(time.monotonic())

    def tick(self, count: int = 1, note: str = "") -> None:
        """``count`` more units are done; ``note`` is for instance the loss."""
        self.done += count
        self.note = note or self.note
        if not self.saves and self.done < self.total and _asked and _asked[-1]():
            raise Interrupted(
                f"stopped while {self.label}, after {self.done} of {self.total} {self.unit}; the same command goes on"
            )
        if self.bar is not None:
            if note:
                self.bar.set_postfix_str(note, refresh=False)
            self.bar.update(count)
        elif (now := time.monotonic()) - self.last >= SECONDS_BETWEEN_LINES:
            self._line(now)

    def _line(self, now: float) -> None:
        if self.quiet:
            return
        self.last = now
        rate = (self.done - self.begun) / max(1e-9, now - self.started)
        left = (self.total - self.done) / rate if rate > 0 else 0.0
        note = f", {self.note}" if self.note else ""
        print(
            f"{self.label}: {self.done}/{self.total} {self.unit}{note}, {rate:.1f} {self.unit}/s, {clock(left)} left",
            file=sys.stderr,
            flush=True,
        )


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss."""
    s = round(seconds)
    return f"{s // 3600}:{s // 60 % 60:02d}:{s % 60:02d}"


def say(text: str) -> None:
    """A line for people, on stderr."""
    tqdm.write(text, file=sys.stderr)
