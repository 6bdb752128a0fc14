"""Ctrl-C as a question that training asks between steps, and other work at each tick of its progress."""

from __future__ import annotations

import signal
from types import FrameType

from conclave_train.progress import ends_when, say


class Stop:
    """Turns the first Ctrl-C or SIGTERM into a question that training asks between steps; the second kills."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, object] = {}

    def __call__(self) -> bool:
        return self.asked

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._handle)
        self._ending = ends_when(self)
        self._ending.__enter__()

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        self._ending.__exit__(None, None, None)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        say("stopping after this step; once more to stop at once")
