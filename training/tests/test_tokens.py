"""Tokens against the reference library's own encoding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import BertWordPieceTokenizer, Tokenizer, models, pre_tokenizers, processors

from conclave_train.data.records import Passage
from conclave_train.model.checkpoint import read_checkpoint
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


@pytest.mark.parametrize("longest", [8, 64])
def test_prefixes_and_the_special_tokens_of_other_vocabularies(tmp_path: Path, longest: int) -> None:
    """What the checkpoint puts before texts; a Unigram vocabulary names its special tokens otherwise."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁query", "▁passage", ":", "▁red", "▁fox", ".", "f", "o", "x"]
    whole = Tokenizer(models.Unigram([(piece, -float(i)) for i, piece in enumerate(pieces)], unk_id=3))
    whole.pre_tokenizer = pre_tokenizers.Metaspace()
    whole.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    whole.save(str(tmp_path / "tokenizer.json"))
    own = Tokens.read(tmp_path / "tokenizer.json", ("query: ", "passage: "))
    assert (own.cls, own.sep, own.pad, own.unknown) == (0, 2, 1, 3)
    whole.enable_truncation(longest)
    passage = Passage("x", "fox", "red fox, fox red fox")
    for template, text in (("text", passage.text), ("title-dot-text", "fox. " + passage.text)):
        assert own.passages([passage], template, longest)[0].tolist() == whole.encode("passage: " + text).ids
    assert own.questions([" red fox "], longest)[0].tolist() == whole.encode("query: red fox").ids


def test_prompts_are_chosen_as_the_importer_chooses(tmp_path: Path) -> None:
    base = write_checkpoint(tmp_path / "base")
    assert read_checkpoint(base).tokens.prefix == ("", "")
    for settings, want in (
        ({"prompts": {"query": "q: ", "passage": "p: "}}, ("q: ", "p: ")),
        ({"prompts": {"document": "d: ", "all": "a: "}, "default_prompt_name": "all"}, ("a: ", "d: ")),
        ({"prompts": {}, "default_prompt_name": None}, ("", "")),
    ):
        (base / "config_sentence_transformers.json").write_text(json.dumps(settings), "utf-8")
        assert read_checkpoint(base).tokens.prefix == want
