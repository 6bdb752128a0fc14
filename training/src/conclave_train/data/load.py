"""One door to all formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conclave_train.data import beir, dpr, jsonl
from conclave_train.data.records import Domain, Source
from conclave_train.errors import DataError, TrainingError


def load_files(
    name: str, passages: Sequence[Path], questions: Sequence[Path], labels: jsonl.Labels = "needed"
) -> Domain:
    """A domain from JSON Lines files of passages and of questions with these ``labels``."""
    if not passages or not questions:
        raise TrainingError("both passages and questions are needed (--passages FILE --questions FILE)")
    read = jsonl.read_passages(passages)
    asked = jsonl.read_questions(questions, {p.id for p in read}, labels)
    sources = [*(Source.of(p, len(read)) for p in passages), *(Source.of(q, len(asked)) for q in questions)]
    return Domain(name, read, asked, tuple(sources))


def load(path: Path, name: str = "", split: str = "train", labels: jsonl.Labels = "needed") -> Domain:
    """A domain from what ``path`` is.

    A folder with ``passages.jsonl[.gz]`` and ``questions.SPLIT.jsonl[.gz]``, a
    BEIR folder, or DPR's retriever file (``.json``, ``.jsonl``, ``.gz``). The
    name is the folder's or file's by default.
    """
    if path.is_dir():
        name = name or path.resolve().name
        passages = beir.file(path, "passages.jsonl")
        questions = beir.file(path, f"questions.{split}.jsonl")
        if passages and questions:
            return load_files(name, [passages], [questions], labels)
        if beir.file(path, "corpus.jsonl"):
            read, asked, files = beir.read(path, split)
            counts = (len(read), len(asked), len(asked))
            return Domain(name, read, asked, tuple(Source.of(f, n) for f, n in zip(files, counts, strict=True)))
        raise DataError(
            path,
            f"holds neither passages.jsonl and questions.{split}.jsonl nor a BEIR collection "
            f"(corpus.jsonl, queries.jsonl, qrels/{split}.tsv)",
        )
    if not path.exists():
        raise DataError(path, "there is no such file or folder")
    read, asked = dpr.read(path)
    return Domain(name or path.name.split(".")[0], read, asked, (Source.of(path, len(asked)),))
