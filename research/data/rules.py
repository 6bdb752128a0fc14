"""The rules by which the domains are made: cutting, merging, splitting and capping. sources.py reads the texts."""

import gzip
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SEED = 13
MOST_PASSAGES = 25_000
MOST_QUESTIONS = {"train": 20_000, "dev": 2_000, "test": 2_000}
SPLITS = ("test", "dev", "train")  # a text that is in several stays in the first

_SENTENCE = re.compile(r"[.!?][\"'”’)\]]*\s+")


@dataclass
class Context:
    """A text of a document, and the questions on it: an answer is its place and its text."""

    text: str
    questions: list["Asked"] = field(default_factory=list)


@dataclass
class Asked:
    """A question on one context. spans are (start, text); without them, every block of the context answers."""

    text: str
    spans: list[tuple[int, str]] = field(default_factory=list)
    more: dict[str, object] = field(default_factory=dict)


@dataclass
class Document:
    """Contexts under one title. split is where the source puts it; by default the document's place is drawn."""

    key: str
    title: str
    contexts: list[Context]
    split: str = ""


@dataclass
class Rules:
    """How one domain is made."""

    name: str
    whole: int = 180  # words of a context that stays whole
    block: int = 100
    one_document: bool = False  # drops a question whose text is asked of several documents
    spans_only: bool = True  # drops a question of which no answer is in a block
    share: tuple[float, float] = (0.8, 0.1)  # of train and dev, where splits are drawn


def count(text: str) -> int:
    """Returns the number of words."""
    return len(text.split())


def blocks(text: str, whole: int, size: int) -> list[tuple[int, int]]:
    """Returns the places of a text's blocks: itself, or blocks of about size words that end at sentence ends."""
    if count(text) <= whole:
        return [(0, len(text))]
    ends = [m.end() for m in _SENTENCE.finditer(text)] + [len(text)]
    out, start, last = [], 0, 0
    for end in ends:
        before, after = count(text[start:last]), count(text[start:end])
        if before and after > size and size - before <= after - size:
            out.append((start, last))
            start = last
        last = end
    if start < len(text):
        if out and count(text[start:]) < size // 3:
            out[-1] = (out[-1][0], len(text))
        else:
            out.append((start, len(text)))
    return out


def answered(context: Context, question: Asked, places: list[tuple[int, int]]) -> tuple[list[int], list[str]]:
    """Returns the blocks that hold an answer at its place, and those answers."""
    held, answers = [], []
    for start, answer in question.spans:
        for i, (begin, end) in enumerate(places):
            if begin <= start and start + len(answer) <= end and context.text[start : start + len(answer)] == answer:
                held.append(i)
                answers.append(answer)
    return sorted(set(held)), list(dict.fromkeys(answers))


def drawn(documents: list[Document], rules: Rules) -> dict[str, str]:
    """Returns the split of each document's key: the source's, or one that is drawn by document."""
    keys = sorted({d.key for d in documents if not d.split})
    random.Random(SEED).shuffle(keys)
    train, dev = round(len(keys) * rules.share[0]), round(len(keys) * rules.share[1])
    out = {key: "train" if i < train else "dev" if i < train + dev else "test" for i, key in enumerate(keys)}
    return out | {d.key: d.split for d in documents if d.split}


def make(documents: list[Document], rules: Rules) -> tuple[list[dict], dict[str, list[dict]]]:
    """Returns the passages of a domain, and its questions by split."""
    split = drawn(documents, rules)
    passages: list[dict] = []
    by_text: dict[str, str] = {}
    asked: dict[str, dict[str, dict]] = {name: {} for name in SPLITS}
    asked_of: dict[str, set[str]] = {}
    for document in capped(documents, rules):
        for context in document.contexts:
            places = blocks(context.text, rules.whole, rules.block)
            ids = []
            for begin, end in places:
                text = context.text[begin:end].strip()
                if text not in by_text:
                    by_text[text] = f"{rules.name}:{len(passages)}"
                    passages.append({"id": by_text[text], "title": document.title, "text": text})
                ids.append(by_text[text])
            for question in context.questions:
                held, answers = answered(context, question, places)
                if question.spans and not held and rules.spans_only:
                    continue
                text = " ".join(question.text.split())
                asked_of.setdefault(text, set()).add(document.key)
                positives = [ids[i] for i in held] or ids
                one = asked[split[document.key]].setdefault(
                    text, {"question": text, "answers": [], "positive_ids": [], **question.more}
                )
                one["answers"] += [a for a in answers if a not in one["answers"]]
                one["positive_ids"] += [p for p in dict.fromkeys(positives) if p not in one["positive_ids"]]
    return passages, numbered(asked, asked_of, rules)


def numbered(asked: dict[str, dict[str, dict]], asked_of: dict[str, set[str]], rules: Rules) -> dict[str, list[dict]]:
    """Returns the questions of each split with ids, without texts of another split, capped by a draw."""
    out: dict[str, list[dict]] = {}
    taken: set[str] = set()
    for name in SPLITS:
        left = [
            q
            for text, q in asked[name].items()
            if text not in taken and not (rules.one_document and len(asked_of[text]) > 1)
        ]
        taken |= set(asked[name])
        if len(left) > MOST_QUESTIONS[name]:
            kept = sorted(random.Random(SEED).sample(range(len(left)), MOST_QUESTIONS[name]))
            left = [left[i] for i in kept]
        out[name] = [{"id": f"{rules.name}-{name}-{i}", **q} for i, q in enumerate(left)]
    return out


def capped(documents: list[Document], rules: Rules) -> list[Document]:
    """Returns the documents that fit under the cap of passages: all, or whole ones that are drawn."""
    sizes = [sum(len(blocks(c.text, rules.whole, rules.block)) for c in d.contexts) for d in documents]
    if sum(sizes) <= MOST_PASSAGES:
        return documents
    order = list(range(len(documents)))
    random.Random(SEED).shuffle(order)
    kept, total = set(), 0
    for i in order:
        if total + sizes[i] <= MOST_PASSAGES:
            kept.add(i)
            total += sizes[i]
    return [d for i, d in enumerate(documents) if i in kept]


def write(folder: Path, passages: list[dict], questions: dict[str, list[dict]]) -> None:
    """Writes passages.jsonl.gz and questions.SPLIT.jsonl.gz of a domain."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in [("passages", passages)] + [(f"questions.{s}", rows) for s, rows in questions.items()]:
        packed = gzip.compress("".join(lines(rows)).encode(), mtime=0)
        (folder / f"{name}.jsonl.gz").write_bytes(packed)


def lines(rows: list[dict]) -> Iterator[str]:
    """Yields the lines of JSON Lines."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False) + "\n"
