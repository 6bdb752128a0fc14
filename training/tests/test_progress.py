"""What a line of progress says: the same as those of conclave (cmd/internal/cli/progress_test.go)."""

from __future__ import annotations

import io
import sys

import pytest

from conclave_train import progress
from conclave_train.errors import Interrupted
from conclave_train.progress import CLEAR, Progress, clock


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


@pytest.mark.parametrize(
    ("done", "total", "took", "want"),
    [  # those of TestProgressInWords
        (256, 1500, 4, "encoding base  256 of 1,500 passages, 64/s, 19s left"),
        (3, 1500, 60, "encoding base  3 of 1,500 passages, 0.1/s, 8h19m0s left"),
        (0, 1500, 60, "encoding base  0 of 1,500 passages"),
        (1500, 1500, 2, "encoding base  1,500 of 1,500 passages, 750/s"),
        (5, 1500, 0.1, "encoding base  5 of 1,500 passages"),
    ],
)
def test_words(done: int, total: int, took: float, want: str) -> None:
    bar = Progress("encoding base", total, "passages", quiet=True)
    bar.tick(done)
    assert bar.describe(took) == want


def test_a_line_has_loss_rate_and_time_left(clock_of: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """After 40 s, 640 of 6400 pairs: 16 a second, and the other 5760 take 360 s."""
    with Progress("training", 6400, "pairs") as bar:
        clock_of.now += 20
        bar.tick(320, "loss 2.5000")
        assert capsys.readouterr().err == ""  # lines are 30 s apart
        clock_of.now += 20
        bar.tick(320, "loss 1.2500")
        assert capsys.readouterr().err == "training  640 of 6,400 pairs, 16/s, 6m0s left, loss 1.2500\n"
        clock_of.now += 29
        bar.tick(1)
        assert capsys.readouterr().err == ""
        clock_of.now += 331
        bar.tick(5759)
        assert capsys.readouterr().err == "training  6,400 of 6,400 pairs, 16/s, loss 1.2500\n"
    assert capsys.readouterr().err == "training: 6,400 pairs in 6m40s (16/s), loss 1.2500\n"


def test_the_rate_of_a_resumed_run_is_its_own(clock_of: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """What was done before the interruption took no time now: 100 in 50 s, and 500 more take 250 s."""
    with Progress("ensemble", 1000, "steps", done=400) as bar:
        clock_of.now += 50
        bar.tick(100)
    assert capsys.readouterr().err.splitlines() == [
        "ensemble  500 of 1,000 steps, 2.0/s, 4m10s left",
        "ensemble: 500 steps in 50s (2.0/s)",
    ]


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


def test_a_terminal_has_one_line(clock_of: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is drawn anew, as wide as the terminal at most, makes way for what is said, and ends as a line of a log."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "40")
    with Progress("training", 640, "pairs") as bar:
        clock_of.now += 10
        bar.tick(320, "loss 1.2500")
        progress.say("something else")
        clock_of.now += 10
        bar.tick(320)
    lines = ["training  320 of 640 pairs, 32/s, 10s l", "something else\n", "training  640 of 640 pairs, 32/s, loss "]
    ended = "training: 640 pairs in 20s (32/s), loss 1.2500\n"
    assert screen.getvalue() == CLEAR + lines[0] + CLEAR + lines[1] + CLEAR + lines[2] + CLEAR + ended


def test_clock() -> None:
    assert [clock(s) for s in (0, 59.6, 3599, 3600, 36061)] == ["0s", "1m0s", "59m59s", "1h0m0s", "10h1m1s"]
