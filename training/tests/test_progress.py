"""What a line of progress says."""

from __future__ import annotations

import io
import re
import sys

import pytest

from conclave_train import progress
from conclave_train.errors import Interrupted
from conclave_train.progress import Progress, clock


class Clock:
    """A monotonic clock that stands where it is put."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock_of(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that progress looks at."""
    own = Clock()
    monkeypatch.setattr(progress, "time", own)
    return own


def test_work_ends_when_somebody_asks() -> None:
    """At the next tick, unless the work saves its state or is done."""
    with progress.ends_when(lambda: True):
        with pytest.raises(Interrupted, match="stopped while measuring, after 3 of 9 texts; the same command goes on"):
            Progress("measuring", 9, "texts", quiet=True).tick(3)
        Progress("training", 9, "pairs", quiet=True, saves=True).tick(3)
        Progress("measuring", 9, "texts", quiet=True).tick(9)
    Progress("measuring", 9, "texts", quiet=True).tick(3)  # nobody asks any more


def test_a_line_has_loss_rate_and_time_left(clock_of: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """After 40 s, 640 of 6400 pairs: 16 a second, and the other 5760 take 360 s."""
    with Progress("training", 6400, "pairs") as bar:
        clock_of.now += 20
        bar.tick(320, "loss 2.5000")
        assert capsys.readouterr().err == ""  # lines are 30 s apart
        clock_of.now += 20
        bar.tick(320, "loss 1.2500")
        line = "training: 640/6400 pairs, loss 1.2500, 16.0 pairs/s, 0:06:00 left\n"
        assert capsys.readouterr().err == line
        clock_of.now += 29
        bar.tick(1)
        assert capsys.readouterr().err == ""
        clock_of.now += 331
        bar.tick(5759)
        assert capsys.readouterr().err == "training: 6400/6400 pairs, loss 1.2500, 16.0 pairs/s, 0:00:00 left\n"


def test_the_rate_of_a_resumed_run_is_its_own(clock_of: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """What was done before the interruption took no time now: 100 in 50 s, and 500 more take 250 s."""
    with Progress("ensemble", 1000, "steps", done=400) as bar:
        clock_of.now += 50
        bar.tick(100)
    first, last = capsys.readouterr().err.splitlines()
    assert first == last == "ensemble: 500/1000 steps, 2.0 steps/s, 0:04:10 left"


def test_quiet_is_quiet_and_a_failure_says_no_more(clock_of: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("training", 10, "pairs", quiet=True) as bar:
        clock_of.now += 99
        bar.tick(5)
    with pytest.raises(ValueError, match="broken"), Progress("training", 10, "pairs"):
        raise ValueError("broken")
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share done, counts, time so far and left, rate, and the loss."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with Progress("training", 640, "pairs") as bar:
        bar.tick(320, "loss 1.2500")
        bar.bar.refresh()
    shown = screen.getvalue().split("\r")[-1]
    assert re.search(r"training: +50%.*320/640 \[\d\d:\d\d<[\d?:]+, .*pairs/s, loss 1\.2500\]", shown), shown


def test_clock() -> None:
    assert [clock(s) for s in (0, 59.6, 3599, 3600, 36061)] == ["0:00:00", "0:01:00", "0:59:59", "1:00:00", "10:01:01"]
