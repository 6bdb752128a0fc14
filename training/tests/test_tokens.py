"""Tokens against the reference library's own encoding."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import BertWordPieceTokenizer

from conclave_train.data.records import Passage
from conclave_train.model.tokens import Tokens, join
from conftest import write_checkpoint


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens.read(write_checkpoint(tmp_path / "base") / "vocab.txt")


@pytest.mark.parametrize("longest", [8, 9, 12, 13, 40])
def test_pairs_are_cut_as_the_reference_cuts_them(tmp_path: Path, tokens: Tokens, longest: int) -> None:
    """longest_first, over titles and texts of all lengths up to well beyond the limit."""
    reference = BertWordPieceTokenizer(str(tmp_path / "base" / "vocab.txt"))
    reference.enable_truncation(longest, strategy="longest_first")
    for a in range(1, 20):
        for b in range(1, 20):
            passage = Passage("x", " ".join(["the", "of", "in"][i % 3] for i in range(a)), "ask1 " * (b - 1) + "say2")
            own = tokens.passages([passage], "pair", longest)[0]
            assert own.tolist() == reference.encode(passage.title, passage.text).ids, (a, b)


def test_special_tokens_in_text_stay_text(tokens: Tokens) -> None:
    ids = tokens.questions(["the [SEP] of [CLS] one"], 20)[0]
    assert (ids == tokens.sep).sum() == 1
    assert (ids == tokens.cls).sum() == 1


def test_templates() -> None:
    passage = Passage("x", " Title ", " text ")
    assert join(passage, "title-dot-text") == "Title. text"
    assert join(passage, "text") == "text"
    assert join(Passage("x", "", "text"), "title-dot-text") == "text"


def test_padding(tokens: Tokens) -> None:
    rows = tokens.questions(["the of in", "one"], 20)
    ids, keep = tokens.pad_batch(rows)
    assert ids.tolist() == [rows[0].tolist(), [*rows[1].tolist(), 0, 0]]
    assert keep.tolist() == [[True] * 5, [True] * 3 + [False] * 2]
    assert tokens.lower_case
