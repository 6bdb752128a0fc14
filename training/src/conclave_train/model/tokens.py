"""Text to ids of pieces, the way the server does it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from torch import Tensor

from conclave_train.data.records import Passage
from conclave_train.errors import TrainingError

Ids = NDArray[np.int32]

# How vocabularies name what begins and ends a text, fills up a row, and stands for what has no piece:
# BERT's and XLM-RoBERTa's.
SPECIAL = (("[CLS]", "[SEP]", "[PAD]", "[UNK]"), ("<s>", "</s>", "<pad>", "<unk>"))


class Tokens:
    """A tokenizer. Special tokens are added here, so text that spells one stays text.

    ``prefix`` is what comes before questions and passages, in front of the title.
    """

    def __init__(self, tokenizer: Tokenizer, name: str, prefix: tuple[str, str] = ("", "")) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True
        self.tokenizer: Any = tokenizer
        known = [[tokenizer.token_to_id(piece) for piece in pieces] for pieces in SPECIAL]
        ids = next((ids for ids in known if None not in ids[:2]), None)
        if ids is None:
            raise TrainingError(f"{name}: no pieces [CLS] and [SEP], or <s> and </s>")
        self.cls, self.sep, self.pad, self.unknown = ids[0], ids[1], ids[2] or 0, ids[3]
        self.prefix = prefix

    @classmethod
    def read(cls, path: Path, prefix: tuple[str, str] = ("", "")) -> Tokens:
        """From ``tokenizer.json`` or ``vocab.txt`` (lower-cased unless the vocabulary has capitals)."""
        if path.name != "vocab.txt":
            try:
                return cls(Tokenizer.from_file(str(path)), str(path), prefix)
            except TrainingError:
                raise
            except Exception as error:  # the library has no error type of its own
                raise TrainingError(f"{path}: {error}") from error
        pieces = path.read_text("utf-8").rstrip("\n").split("\n")
        lower = not any(p != p.lower() for p in pieces if not p.startswith("["))
        vocabulary = {piece: i for i, piece in enumerate(pieces)}
        tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        return cls(tokenizer, str(path), prefix)

    @property
    def lower_case(self) -> bool:
        """Whether text is lower-cased."""
        normalizer = self.tokenizer.normalizer
        return bool(normalizer is not None and getattr(normalizer, "lowercase", False))

    def _pieces(self, texts: Sequence[str]) -> list[list[int]]:
        return [e.ids for e in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def questions(self, texts: Sequence[str], longest: int) -> list[Ids]:
        """``[CLS] question [SEP]``, at most ``longest`` ids each."""
        return [self._single(pieces, longest) for pieces in self._pieces([self.prefix[0] + t.strip() for t in texts])]

    def passages(self, passages: Sequence[Passage], template: str, longest: int) -> list[Ids]:
        """Passages by ``template``: text; title-dot-text; pair = ``[CLS] title [SEP] text [SEP]``."""
        if template != "pair":
            whole = [self.prefix[1] + join(p, template) for p in passages]
            return [self._single(pieces, longest) for pieces in self._pieces(whole)]
        titles = self._pieces([self.prefix[1] + p.title.strip() if p.title.strip() else "" for p in passages])
        texts = self._pieces([p.text.strip() for p in passages])
        return [
            self._pair(a, b, longest) if a else self._single(b, longest) for a, b in zip(titles, texts, strict=True)
        ]

    def _single(self, pieces: list[int], longest: int) -> Ids:
        return np.array([self.cls, *pieces[: longest - 2], self.sep], np.int32)

    def _pair(self, a: list[int], b: list[int], longest: int) -> Ids:
        """Cut "longest first": the longer gives way until both are equal, then both do."""
        room = longest - 3
        keep_a, keep_b = len(a), len(b)
        if keep_a + keep_b > room:
            short = min(keep_a, keep_b)
            if room - short < short:
                short = room // 2
            keep_a, keep_b = (room - short, short) if keep_a > keep_b else (short, room - short)
        return np.array([self.cls, *a[:keep_a], self.sep, *b[:keep_b], self.sep], np.int32)

    def pad_batch(
        self, rows: Sequence[Ids], device: torch.device | str = "cpu", whole: int = 1, most: int = 1 << 30
    ) -> tuple[Tensor, Tensor]:
        """``ids`` int64 [B,T] and ``keep`` bool [B,T].

        T is the longest row, up to the next multiple of ``whole``, but padded to
        no more than ``most``, the positions that a tower has.
        """
        lengths = np.array([len(row) for row in rows])
        longest = int(lengths.max())
        width = max(longest, min(most, -(-longest // whole) * whole))
        keep = np.arange(width)[None, :] < lengths[:, None]
        ids = np.full(keep.shape, self.pad, np.int64)
        ids[keep] = np.concatenate(rows)
        return torch.from_numpy(ids).to(device), torch.from_numpy(keep).to(device)


def join(passage: Passage, template: str) -> str:
    """A passage as one string: ``title. text``, or the text alone where there is no title."""
    title, text = passage.title.strip(), passage.text.strip()
    return f"{title}. {text}" if title and template == "title-dot-text" else text
