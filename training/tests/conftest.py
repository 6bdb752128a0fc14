"""What the tests share: a tiny BERT checkpoint and a tiny domain that it can learn."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from conclave_train.data.records import Domain, Passage, Question
from conclave_train.model.bert import BertConfig
from conclave_train.model.checkpoint import Checkpoint, read_checkpoint
from conclave_train.model.tensors import write_tensors
from conclave_train.model.tower import Head, Tower

TOPICS = 12
FILLER = ("the", "of", "about", "in", "some", "who", "what", "when", "one", "two")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Bit-equal results need a fixed number of threads; other work on the machine needs the rest."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def vocabulary() -> list[str]:
    """Special tokens, filler, a word that only questions use and one that only passages use for each topic."""
    return [
        *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?"),
        *FILLER,
        *(f"ask{i}" for i in range(TOPICS)),
        *(f"say{i}" for i in range(TOPICS)),
    ]


def write_checkpoint(path: Path, seed: int = 1, pooling: str = "mean", **changes: Any) -> Path:
    """A seeded random BERT in the files of a published checkpoint."""
    values: dict[str, Any] = {
        "model_type": "bert",
        "vocab_size": len(vocabulary()),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 48,
        **changes,
    }
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(values))
    (path / "vocab.txt").write_text("\n".join(vocabulary()) + "\n")
    modules = [{"path": "", "type": "models.Transformer"}, {"path": "1_Pooling", "type": "models.Pooling"}]
    modules.append({"path": "2", "type": "models.Normalize"})
    (path / "modules.json").write_text(json.dumps(modules))
    (path / "1_Pooling").mkdir(exist_ok=True)
    (path / "1_Pooling" / "config.json").write_text(json.dumps({f"pooling_mode_{pooling}_tokens": True}))
    (path / "README.md").write_text("---\nlicense: apache-2.0\n---\n# tiny\n")
    torch.manual_seed(seed)
    tower = Tower(BertConfig.read(path / "config.json"), Head(pooling, True))
    with torch.no_grad():
        for name, parameter in tower.named_parameters():
            if "LayerNorm.weight" in name:
                parameter.uniform_(0.8, 1.2)
            elif name.endswith("bias"):
                parameter.normal_(std=0.1)
            else:
                parameter.normal_(std=0.2)
    write_tensors(path / "model.safetensors", tower.plain_state(), {"format": "pt"})
    return path


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """The tiny checkpoint, read."""
    return read_checkpoint(write_checkpoint(tmp_path / "base"))


def tiny_domain(
    seed: int = 3,
    name: str = "tiny",
    per_topic: int = 4,
    questions: int = 16,
    topics: Sequence[int] = range(TOPICS),
) -> Domain:
    """Passages say ``sayN`` and questions ask ``askN``: nothing but training can tell which go together."""
    random = np.random.default_rng(seed)

    def words(count: int) -> str:
        return " ".join(random.choice(FILLER, count))

    passages = [
        Passage(f"{name}:{t}-{i}", words(1), f"{words(2)} say{t} {words(1 + i % 3)}")
        for t in topics
        for i in range(per_topic)
    ]
    asked = []
    for t in topics:
        ids = [f"{name}:{t}-{i}" for i in range(per_topic)]
        for i in range(questions):
            turn = i % per_topic
            asked.append(
                Question(
                    f"{name}-{t}-{i}", f"{words(2)} ask{t} {words(i % 4)}?", (*ids[turn:], *ids[:turn]), (f"say{t}",)
                )
            )
    return Domain(name, passages, asked)


def write_lines(path: Path, rows: list[Any], compress: bool = False) -> Path:
    """JSON Lines."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if compress:
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def write_domain(folder: Path, domain: Domain) -> Path:
    """The files of a domain, as ``--data`` takes them."""
    folder.mkdir()
    write_lines(folder / "passages.jsonl", [vars(p) for p in domain.passages])
    rows = [
        {"id": q.id, "question": q.text, "positive_ids": q.positives, "answers": q.answers} for q in domain.questions
    ]
    write_lines(folder / "questions.train.jsonl", rows)
    return folder


def golden(name: str) -> Path:
    """A file of the reference material beside a checkout; the test is skipped where it is not there."""
    root = os.environ.get("CONCLAVE_SHARED") or Path(__file__).parents[3] / "shared"
    path = Path(root) / name
    if not path.exists():
        pytest.skip(f"reference material {name} is not here (set CONCLAVE_SHARED to the folder that has it)")
    return path


def cached(*parts: str) -> Path:
    """A file of conclave's cache; the test is skipped where `conclave setup` has not been run."""
    cache = os.environ.get("CONCLAVE_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "conclave"
    path = Path(cache).expanduser().joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is not there: run conclave setup")
    return path


class After:
    """Stops a run when it has been asked so many times."""

    def __init__(self, count: int) -> None:
        self.left = count

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def contents(folder: Path) -> dict[str, bytes]:
    """A folder's files."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}
