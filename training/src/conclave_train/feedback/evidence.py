"""The passages' vectors that training searches, which follow their encoder some steps behind."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable

import torch
from torch import Tensor

from conclave_train.fit.state import RunFolder
from conclave_train.model.tower import Tower


class Evidence:
    """Vectors [N,D] of all passages, encoded anew beside the training (Sachan et al. 2021: every 500 steps).

    At step n·every the encoder is copied, and its copy encodes while training goes on; what it made is searched from
    step (n+1)·every on. Until then it is what the copy before made, and in the beginning what the first weights give.
    Training waits where the vectors are not ready by then, so that which of them a step searches is a function of the
    step alone, and a resumed run searches the same. ``every`` 0: they stay.
    """

    def __init__(
        self, encode: Callable[[Tower, bool], Tensor], tower: Tower, every: int, saved_every: int, folder: RunFolder
    ) -> None:
        self.encode, self.tower, self.every, self.saved_every, self.folder = encode, tower, every, saved_every, folder
        self.current: tuple[int, Tensor] | None = None
        self.pending: tuple[int, threading.Thread, list[Tensor | BaseException]] | None = None

    def begin(self, step: int) -> None:
        """Be ready for ``step``, of a run that begins or goes on."""
        if self.folder.load_part("vectors-0.pt") is None:  # only when nothing has been trained yet
            self.folder.save_part("vectors-0.pt", self.encode(self.tower, True))
        count = (step - 1) // self.every if self.every and step else 0  # of the last copy that a step before made
        self._take(max(0, count - 1))
        if count >= 1:
            self._start(count, self._copied(count))

    def at(self, step: int) -> Tensor:
        """The vectors that ``step`` searches; before its update, the tower is as the steps before made it."""
        count, left = divmod(step, self.every) if self.every else (0, 0)
        if count and not left and (self.pending is None or self.pending[0] < count):
            if self.pending:
                self._take(self.pending[0])
            self.folder.save_part(f"encoder-{count}.pt", {k: v.cpu() for k, v in self.tower.state_dict().items()})
            self._start(count, copy.deepcopy(self.tower))
            self._forget((step - self.saved_every) // self.every - 1)
        assert self.current is not None
        return self.current[1]

    def close(self) -> None:
        """Wait for what is being encoded."""
        if self.pending:
            self.pending[1].join()
            self.pending = None

    def _start(self, count: int, tower: Tower) -> None:
        made: list[Tensor | BaseException] = []
        threads = torch.get_num_threads()

        def work() -> None:
            torch.set_num_threads(threads)  # a thread has its own number; with another, sums differ in the last bit
            try:
                kept: Tensor | None = self.folder.load_part(f"vectors-{count}.pt")
                made.append(self.encode(tower, False) if kept is None else kept)
            except BaseException as error:
                made.append(error)

        thread = threading.Thread(target=work, name="encoding passages", daemon=True)
        self.pending = count, thread, made
        thread.start()

    def _take(self, count: int) -> None:
        """Search the vectors of copy ``count`` from now on."""
        vectors: Tensor | None = None
        if self.pending and self.pending[0] == count:
            self.pending[1].join()
            made = self.pending[2][0]
            self.pending = None
            if isinstance(made, BaseException):
                raise made
            vectors = made
            self.folder.save_part(f"vectors-{count}.pt", vectors)
        if vectors is None:
            vectors = self.folder.load_part(f"vectors-{count}.pt")
        if vectors is None:
            vectors = self.encode(self._copied(count), True)
            self.folder.save_part(f"vectors-{count}.pt", vectors)
        self.current = count, vectors

    def _copied(self, count: int) -> Tower:
        tower = copy.deepcopy(self.tower)
        tower.load_state_dict(self.folder.load_part(f"encoder-{count}.pt"))
        return tower

    def _forget(self, before: int) -> None:
        """Remove what no run that goes on from the last save can need; the first vectors stay."""
        for count in range(1, before):
            for name in (f"vectors-{count}.pt", f"encoder-{count}.pt"):
                (self.folder.path / name).unlink(missing_ok=True)
