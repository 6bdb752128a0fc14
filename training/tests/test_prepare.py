"""What is ready before the first step: the split, and what settings stand for by default."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conclave_train.data.records import Question
from conclave_train.job import Job, prepare
from conclave_train.settings import ExpertSettings
from conftest import tiny_domain, write_checkpoint

SMALL = ExpertSettings(question_tokens=16, passage_tokens=24, hold_out=0.25)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Two domains of 96 questions on 24 passages each."""
    one = tiny_domain(name="one", topics=range(6))
    two = tiny_domain(seed=4, name="two", topics=range(6, 12))
    return Job("both", (one, two), write_checkpoint(tmp_path / "base"), tmp_path / "out", tmp_path / "run", SMALL)


@pytest.mark.parametrize(("normalise", "asked", "expected"), [(None, 0, 0.05), (False, 0, 1.0), (None, 0.3, 0.3)])
def test_the_default_temperature(job: Job, normalise: bool | None, asked: float, expected: float) -> None:
    """0.05 for the base's unit-length vectors, DPR's 1 for others, or what is asked for."""
    settings = replace(SMALL, temperature=asked)
    assert prepare(replace(job, normalise=normalise, settings=settings)).temperature == expected


def ids(questions: list[Question]) -> set[str]:
    return {q.id for q in questions}


def test_training_and_held_back_questions_are_apart(job: Job) -> None:
    """Every question is in one of the two, with all others of its first passage; each domain gives to both."""
    prepared = prepare(job)
    everything = [q for domain in job.domains for q in domain.questions]
    assert len(ids(everything)) == len(everything) == len(prepared.train) + len(prepared.held)
    assert not ids(prepared.train) & ids(prepared.held)
    assert ids(prepared.train) | ids(prepared.held) == ids(everything)
    assert not {q.positives[0] for q in prepared.train} & {q.positives[0] for q in prepared.held}
    for number, domain in enumerate(job.domains):
        own = ids(list(domain.questions))
        assert 0.05 < len(own & ids(prepared.held)) / len(own) < 0.6
        grouped = {q.id for q, group in zip(prepared.train, prepared.groups, strict=True) if group == number}
        assert grouped == own & ids(prepared.train)


def test_a_limit_takes_from_training_alone(job: Job) -> None:
    """The same questions are held back, none of them is trained on, and each domain gives as many."""
    whole = prepare(job)
    cut = prepare(replace(job, settings=replace(SMALL, limit=20)))
    assert ids(cut.held) == ids(whole.held)
    assert ids(cut.train) < ids(whole.train)
    assert [cut.groups.count(number) for number in (0, 1)] == [20, 20]


def test_at_most_so_many_are_held_back_over_all_domains(job: Job) -> None:
    held = prepare(replace(job, settings=replace(SMALL, hold_out_most=16))).held
    assert 0 < len(held) <= 16
    assert {q.id.split("-")[0] for q in held} == {"one", "two"}
    assert prepare(replace(job, settings=replace(SMALL, hold_out=0.0))).held == []
