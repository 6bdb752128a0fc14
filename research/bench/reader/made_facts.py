"""Facts about made-up people, worded in many ways: a corpus of them, and an endless supply beside it.

A person's name is two words, and so is the value of a fact; each word stands in many passages, and the value of a
fact in one, or in as many as are wanted, of which the others are distractors: they hold the answer and do not answer.
Passages of people who share a name, and of the same kind of fact, are near neighbours.
"""

from dataclasses import dataclass

import numpy as np

from conclave_train.data.records import Domain, Passage, Question
from conclave_train.fid import Reading

SYLLABLES = ["ba", "ko", "ri", "ten", "mal", "su", "vo", "lin", "dra", "pe", "fa", "gor"]
MADE = [a + b for a in SYLLABLES for b in SYLLABLES]
KINDS = {  # of facts: wordings in passages, wordings of questions
    "trade": (
        ["{n} works as {v} .", "by trade {n} is {v} .", "the work of {n} is that of {v} ."],
        ["what job has {n} ?", "which occupation has {n} ?", "what does {n} do ?"],
    ),
    "town": (
        ["{n} was born in {v} .", "the cradle of {n} stood in {v} .", "{v} saw the birth of {n} ."],
        ["what is the origin of {n} ?", "from which place comes {n} ?", "where is {n} from ?"],
    ),
    "beast": (
        ["{n} never leaves {v} at home .", "{v} follows {n} .", "{n} keeps {v} ."],
        ["which animal has {n} ?", "what pet has {n} ?", "what creature lives with {n} ?"],
    ),
    "hue": (
        ["the house of {n} is painted {v} .", "{n} paints all walls {v} .", "{v} are the doors of {n} ."],
        ["what colour likes {n} ?", "which shade has the home of {n} ?", "how is the roof of {n} coloured ?"],
    ),
}
FILLER = ["{n} is known here .", "people like {n} .", "few have met {n} ."]


@dataclass(frozen=True)
class Fact:
    """What is so of a person."""

    name: str
    kind: str
    value: str


class World:
    """Names and values that there can be: those of a corpus of ``people``, and those that are left for others."""

    def __init__(self, people: int, names: int, values: int, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        first, last = MADE[:names], MADE[names : 2 * names]
        all = [f"{a} {b}" for a in first for b in last]
        order = self.random.permutation(len(all))
        self.people, self.others = ([all[i] for i in part] for part in (order[:people], order[people:]))
        self.left = set(self.others)
        self.values = {
            kind: [f"{kind[:2]}{a} {kind[:2]}{b}" for a in MADE[:values] for b in MADE[values : 2 * values]]
            for kind in KINDS
        }

    def words(self) -> list[str]:
        """Every word that a passage or a question can have."""
        texts = [t for said, asked in KINDS.values() for t in (*said, *asked)] + FILLER + self.people + self.others
        texts += [v for values in self.values.values() for v in values]
        return sorted({w for t in texts for w in t.split()} - {"{n}", "{v}"})

    def corpus(self, holders: int = 1) -> Domain:
        """A passage for each person and kind of fact, and a question to each. A value is that of ``holders`` people."""
        values = {kind: self.random.permutation(own) for kind, own in self.values.items()}
        passages, questions = [], []
        for i, name in enumerate(self.people):
            for kind in KINDS:
                fact = Fact(name, kind, str(values[kind][i // holders]))
                id = f"{i}-{kind}"
                passages.append(Passage(id, "", passage(self.random, fact)))
                questions.append(Question(id, question(self.random, fact), (id,), (fact.value,)))
        return Domain("facts", passages, questions)

    def draw(self, random: np.random.Generator, count: int) -> list[Fact]:
        """A fact of somebody who is not in the corpus, and near neighbours of it: of that person, of people who share a
        word of the name, of anybody."""
        name, kinds = self._other(random), list(KINDS)
        kind = kinds[int(random.integers(len(kinds)))]
        facts, (first, last) = [Fact(name, kind, self._value(random, kind))], name.split()
        while len(facts) < count:
            other, same = self._other(random), kind
            match int(random.integers(4)):
                case 0:
                    other, same = name, kinds[(kinds.index(kind) + 1 + int(random.integers(3))) % 4]
                case 1:
                    other = f"{first} {other.split()[1]}"
                case 2:
                    other = f"{other.split()[0]} {last}"
            if (other, same) != (name, kind) and other in self.left:
                facts.append(Fact(other, same, self._value(random, same)))
        return facts

    def _other(self, random: np.random.Generator) -> str:
        return self.others[int(random.integers(len(self.others)))]

    def _value(self, random: np.random.Generator, kind: str) -> str:
        return self.values[kind][int(random.integers(len(self.values[kind])))]


def passage(random: np.random.Generator, fact: Fact) -> str:
    """The fact in one of its wordings, before or behind a sentence that says nothing."""
    parts = [_one(random, KINDS[fact.kind][0]).format(n=fact.name, v=fact.value)]
    parts.insert(int(random.integers(2)), _one(random, FILLER).format(n=fact.name))
    return " ".join(parts)


def question(random: np.random.Generator, fact: Fact) -> str:
    """One of the questions that the fact answers."""
    return _one(random, KINDS[fact.kind][1]).format(n=fact.name)


def _one(random: np.random.Generator, wordings: list[str]) -> str:
    return wordings[int(random.integers(len(wordings)))]


@dataclass(frozen=True)
class Fresh(Reading):
    """Questions whose facts are drawn anew at every step, so that nothing can be learned by heart."""

    world: World

    def passages(self, i: int, step: int) -> list[list[int]]:
        """One passage that answers question i as it is at ``step``, and its neighbours, in a random order."""
        random = np.random.default_rng([self.s.seed, 3, step, i])
        facts = self.world.draw(random, self.s.passages_per_question)
        asked = question(random, facts[0])
        texts = [passage(random, fact) for fact in facts]
        return [self.beside(asked, texts[int(n)]) for n in random.permutation(len(texts))]

    def answer(self, i: int, step: int) -> list[int]:
        """Its answer."""
        random = np.random.default_rng([self.s.seed, 3, step, i])
        return self.encode(self.world.draw(random, 1)[0].value, self.s.answer_tokens)

    def beside(self, asked: str, text: str) -> list[int]:
        """A passage beside a question, as :meth:`Reading.input` puts them."""
        return self.encode(f"question: {asked} title:  context: {text}", self.s.tokens)
