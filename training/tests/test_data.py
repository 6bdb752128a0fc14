"""Formats, and an error that names file, line and field for each kind of bad data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conclave_train.data.load import load, load_files
from conclave_train.data.records import Question, union
from conclave_train.data.split import hold_out
from conclave_train.errors import DataError, TrainingError
from conftest import tiny_domain, write_lines

PASSAGES: list[dict[str, Any]] = [
    {"id": "a", "title": "T", "text": "one"},
    {"id": "b", "text": "two"},
    {"id": "c", "title": None, "text": "3"},
]
QUESTIONS: list[dict[str, Any]] = [
    {"id": "q1", "question": "one?", "answers": ["one"], "positive_ids": ["a"], "label": "passed over"},
    {"id": "q2", "question": " two? ", "answers": [], "positive_ids": ["b", "a"], "hard_negative_ids": ["c"]},
]


@pytest.mark.parametrize("compress", [False, True])
def test_json_lines(tmp_path: Path, compress: bool) -> None:
    end = ".gz" if compress else ""
    write_lines(tmp_path / f"passages.jsonl{end}", PASSAGES, compress)
    write_lines(tmp_path / f"questions.train.jsonl{end}", QUESTIONS, compress)
    domain = load(tmp_path)
    assert [(p.id, p.title, p.text) for p in domain.passages] == [("a", "T", "one"), ("b", "", "two"), ("c", "", "3")]
    assert domain.questions[1] == Question("q2", "two?", ("b", "a"), (), ("c",))
    assert domain.index == {"a": 0, "b": 1, "c": 2}
    assert [s.records for s in domain.sources] == [3, 2]


def bad(**changes: Any) -> list[Any]:
    return [QUESTIONS[0], {**QUESTIONS[1], **changes}]


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        (bad(positive_ids=["b", "z"]), ":2: field \"positive_ids[1]\": 'z' is the id of no passage"),
        (bad(positive_ids=[]), ':2: field "positive_ids": is empty'),
        (bad(positive_ids="b"), ':2: field "positive_ids": is a string, and a list of strings is needed'),
        (bad(positive_ids=[4]), ':2: field "positive_ids[0]": is a number'),
        (bad(question=""), ':2: field "question": is empty'),
        (bad(question=["x"]), ':2: field "question": is a list'),
        (bad(id="q1"), "field \"id\": 'q1' is the id of the question at"),
        (bad(hard_negative_ids=["b"]), "is among positive_ids too"),
        (bad(answers=[None]), ':2: field "answers[0]": is null'),
        (bad(question="\ud800"), "lone surrogate"),
        ([QUESTIONS[0], [1, 2]], ":2: is not a JSON object"),
        ([], "holds no question"),
    ],
)
def test_bad_questions(tmp_path: Path, questions: list[Any], message: str) -> None:
    passages = write_lines(tmp_path / "p.jsonl", PASSAGES)
    path = write_lines(tmp_path / "q.jsonl", questions)
    with pytest.raises(DataError) as error:
        load_files("x", [passages], [path])
    assert str(path) in str(error.value)
    assert message in str(error.value)


def test_questions_without_labels(tmp_path: Path) -> None:
    """Where nothing is learned from labels, those of other passages are passed over."""
    passages = write_lines(tmp_path / "p.jsonl", PASSAGES)
    foreign = bad(positive_ids=["z", "b"], hard_negative_ids=["y", "c"])
    domain = load_files("x", [passages], [write_lines(tmp_path / "q.jsonl", foreign)], labels="ignored")
    assert domain.questions[1].positives == ("b",)
    assert domain.questions[1].negatives == ("c",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"id": "a", "text": "x"}\n{"id": "b"', ":2: is not JSON"),
        (b'{"id": "a", "text": "x"}\n\xff\n', ":2: byte 0 is not UTF-8"),
        (b'{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}', ':2: field "id"'),
        (b'{"id": "a", "text": "x"}\n{"id": "b"}', ':2: field "text": is missing'),
        (b"\x1f\x8bnot gzip", "gzip data are damaged"),
        (b"", "holds no passage"),
    ],
)
def test_bad_passages(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(text)
    with pytest.raises(DataError) as error:
        load_files("x", [path], [write_lines(tmp_path / "q.jsonl", QUESTIONS)])
    assert str(path) in str(error.value)
    assert message in str(error.value)


def dpr_record(**changes: Any) -> dict[str, Any]:
    return {
        "question": "who?",
        "answers": ["x"],
        "positive_ctxs": [{"title": "A", "text": "aa", "passage_id": "1", "score": 3}],
        "negative_ctxs": [{"title": "B", "text": "bb", "psg_id": 2}],
        "hard_negative_ctxs": [{"title": "C", "text": "cc"}, {"title": "A", "text": "aa", "passage_id": "1"}],
        **changes,
    }


def test_dprs_json(tmp_path: Path) -> None:
    """A positive is no negative of its question; ordinary negatives stand in; no positive, no question."""
    records = [dpr_record(), dpr_record(hard_negative_ctxs=[]), dpr_record(positive_ctxs=[])]
    path = tmp_path / "dpr-train.json"
    path.write_text(json.dumps(records, indent=2))
    domain = load(path)
    assert domain.name == "dpr-train"
    assert len(domain.questions) == 2
    made = domain.questions[0].negatives[0]
    assert made.startswith("sha256:")
    assert domain.passages[domain.index[made]].text == "cc"
    assert domain.questions[0].negatives == (made,)
    assert domain.questions[1].negatives == ("2",)
    assert domain.questions[0].positives == ("1",)
    lines = write_lines(tmp_path / "dpr-train.jsonl", records, compress=True)
    assert load(lines).passages == domain.passages


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (dpr_record(positive_ctxs=[{"title": "A"}]), 'record 1, positive_ctxs[0]: field "text": is missing'),
        (dpr_record(positive_ctxs=["x"]), 'record 1: field "positive_ctxs[0]": is a string'),
        (dpr_record(question=None), 'record 1: field "question": is missing'),
        (dpr_record(negative_ctxs=[{"text": "other", "psg_id": "1"}]), "another passage had the id"),
    ],
)
def test_bad_dpr_json(tmp_path: Path, record: dict[str, Any], message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([record]))
    with pytest.raises(DataError) as error:
        load(path)
    assert message in str(error.value)


def beir(folder: Path, judgements: str) -> Path:
    (folder / "qrels").mkdir(parents=True)
    write_lines(folder / "corpus.jsonl", [{"_id": p["id"], "title": "", "text": p["text"]} for p in PASSAGES])
    write_lines(folder / "queries.jsonl", [{"_id": 1, "text": "one"}, {"_id": 2, "text": "two"}])
    (folder / "qrels" / "train.tsv").write_text(judgements)
    return folder


def test_beir(tmp_path: Path) -> None:
    """Grades above 0 are positives, 0 is a hard negative, queries without a positive are left out."""
    head = "query-id\tcorpus-id\tscore\n"
    domain = load(beir(tmp_path / "nf", head + "1\ta\t2\n1\tb\t0\n1\tc\t1\n2\tb\t0\n"))
    assert domain.questions == [Question("1", "one", ("a", "c"), (), ("b",))]
    for number, (line, message) in enumerate(
        [
            ("1\tz\t1\n", ":2: field \"corpus-id\": 'z' is not known"),
            ("9\ta\t1\n", 'field "query-id"'),
            ("1\ta\tx\n", ":2: field \"score\": 'x' is not a number"),
            ("1 a 1\n", ":2: has 1 columns"),
            ("1\ta\t0\n", "no query has a passage"),
        ]
    ):
        with pytest.raises(DataError) as error:
            load(beir(tmp_path / str(number), head + line))
        assert message in str(error.value)


def test_what_is_no_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        load(tmp_path / "nothing")
    with pytest.raises(DataError, match="holds neither"):
        load(tmp_path)


def test_union_refuses_ids_that_clash() -> None:
    one, two = tiny_domain(name="one"), tiny_domain(name="two")
    both = union("both", [one, two])
    assert len(both.passages) == len(one.passages) + len(two.passages)
    assert both.fingerprint() != one.fingerprint()
    with pytest.raises(TrainingError, match="is in one and in two"):
        union("both", [one, type(one)("two", one.passages, one.questions)])


def test_hold_out_is_fixed_and_keeps_passages_apart() -> None:
    domain = tiny_domain()
    rest, held = hold_out(domain.questions, 0.25, 1000)
    assert hold_out(list(reversed(domain.questions)), 0.25, 1000)[1] == list(reversed(held))
    assert 0.1 * len(domain.questions) < len(held) < 0.45 * len(domain.questions)
    assert not {q.positives[0] for q in rest} & {q.positives[0] for q in held}
    assert len(rest) + len(held) == len(domain.questions)
    assert len(hold_out(domain.questions, 0.9, 20)[1]) <= 20
