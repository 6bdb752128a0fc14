"""BEIR folders: ``corpus.jsonl`` ``{_id,title,text}``, ``queries.jsonl`` ``{_id,text}``,
``qrels/SPLIT.tsv`` with the header ``query-id corpus-id score`` (beir-cellar/beir, wiki "Load your custom dataset").
"""

from __future__ import annotations

from pathlib import Path

from conclave_train.data.jsonl import read_passages
from conclave_train.data.lines import lines, records
from conclave_train.data.records import Passage, Question
from conclave_train.errors import DataError


def file(folder: Path, name: str) -> Path | None:
    """``folder/name`` or ``folder/name.gz``, whichever is there."""
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def read(folder: Path, split: str = "train") -> tuple[list[Passage], list[Question], list[Path]]:
    """Passages, the questions judged in ``split`` (grade > 0 is a positive, 0 a hard negative), and the files."""
    corpus, queries = file(folder, "corpus.jsonl"), file(folder, "queries.jsonl")
    judgements = file(folder / "qrels", f"{split}.tsv")
    for found, name in (
        (corpus, "corpus.jsonl"),
        (queries, "queries.jsonl"),
        (judgements, f"qrels/{split}.tsv"),
    ):
        if found is None:
            raise DataError(folder, f"is no BEIR folder: it has no {name}")
    assert corpus and queries and judgements
    passages = read_passages([corpus])
    texts: dict[str, str] = {}
    for record in records(queries):
        id = record.string("_id", "id")
        if id in texts:
            raise record.fail("_id", f"{id!r} is the id of another query too")
        texts[id] = record.string("text").strip()
    positives, negatives = _judgements(judgements, {p.id for p in passages}, set(texts))
    questions = [
        Question(id, texts[id], tuple(good), negatives=tuple(negatives.get(id, ()))) for id, good in positives.items()
    ]
    if not questions:
        raise DataError(judgements, "no query has a passage with a grade above 0")
    return passages, questions, [corpus, queries, judgements]


def _judgements(path: Path, passages: set[str], queries: set[str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    positives: dict[str, list[str]] = {}
    negatives: dict[str, list[str]] = {}
    for number, line in lines(path):
        columns = line.rstrip("\r\n").split("\t")
        if number == 1 and columns[0] == "query-id":
            continue
        if len(columns) != 3:
            problem = f"has {len(columns)} columns; query-id, corpus-id and score, between tabs, are needed"
            raise DataError(path, problem, line=number)
        query, passage, grade = columns
        for name, value, known in (("query-id", query, queries), ("corpus-id", passage, passages)):
            if value not in known:
                raise DataError(path, f"{value!r} is not known", line=number, field=name)
        try:
            positive = float(grade) > 0
        except ValueError:
            raise DataError(path, f"{grade!r} is not a number", line=number, field="score") from None
        (positives if positive else negatives).setdefault(query, []).append(passage)
    return positives, negatives
