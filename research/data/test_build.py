"""Small sources of the form of the public ones, made up here, and what the rules make of them, counted by hand."""

import contextlib
import csv
import gzip
import hashlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import build
from rules import Asked, Context, Document, Rules, blocks, count, make
from sources import SOURCES

LONG = " ".join(f"Sentence number {i} has exactly seven words." for i in range(40))  # 280 words


def squad(articles: list[tuple[str, list[tuple[str, list[tuple[str, str]]]]]]) -> str:
    """Returns a file in SQuAD's form: titles, contexts, and questions with their answers."""
    data = [
        {
            "title": title,
            "paragraphs": [
                {
                    "context": context,
                    "qas": [
                        {"question": q, "answers": [{"text": a, "answer_start": context.index(a)}]} for q, a in asked
                    ],
                }
                for context, asked in contexts
            ],
        }
        for title, contexts in articles
    ]
    return json.dumps({"data": data})


def unpacked(path: Path) -> bytes:
    """Returns what a file was before it was packed."""
    return gzip.decompress(path.with_name(path.name + ".gz").read_bytes())


def made_up(folder: Path) -> None:
    """Writes a source of every domain."""

    def put(domain: str, name: str, text: str) -> None:
        path = folder / SOURCES[domain].repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    articles = [
        (f"Town_{i}", [(f"Town {i} has {i} bridges.", [(f"How many bridges has town {i}?", f"{i} b")])])
        for i in range(10)
    ]
    put("wiki", "datasets/new_wiki_v1.0.json", squad(articles))
    put("amazon", "datasets/amazon_reviews_v1.0.json", squad(articles))
    gold = {"title": "Rice", "text": "Rice keeps for a day.", "isgold": True}
    row = {"question": "how long does rice keep", "answers": ["a day", "one day"], "ctxs": [gold]}
    path = folder / SOURCES["nq"].repository / "qa_data/nq-open-oracle.jsonl.gz"
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wt", encoding="utf-8") as f:
        f.write(json.dumps(row) + "\n")
    for name in ("train", "val", "test"):
        for what, fields, rows in (
            (
                f"section-stories/{name}/fox-story.csv",
                ["section", "text"],
                [["1", f"A fox of {name} ran."], ["2", "It slept."]],
            ),
            (
                f"questions/{name}/fox-questions.csv",
                ["question", "cor_section", "answer1"],
                [
                    [f"Who ran in {name}?", "1,2", f"A fox of {name}"],
                    [f"Why did it sleep in {name}?", "2", "It was tired"],
                ],
            ),
        ):
            out = io.StringIO()
            csv.writer(out).writerows([fields, *rows])
            put("fairytale", f"data-by-train-split/{what}", out.getvalue())
    policies = [("shop.example", [("We sell your data.", [("What is sold?", "your data")])])]
    put("policy", "data/test.json", squad(policies))
    put("policy", "data/dev.json", squad([("news.example", [("We keep it.", [("What is kept?", "it")])])]))
    put(
        "covid",
        "data/question-answering/200423_covidQA.json",
        squad([("", [("A paper\n\nby people\n\nAbstract: Masks help.", [("What helps?", "Masks")])])]),
    )
    pairs = f"<QAPair><Question>What is it?</Question><Answer>{LONG}</Answer></QAPair>"
    pairs += "<QAPair><Question>No?</Question><Answer/></QAPair>"
    put("medquad", "1_QA/1.xml", f"<Document><Focus>Flu</Focus><QAPairs>{pairs}</QAPairs></Document>")
    abstracts = {
        str(i): {
            "QUESTION": f"Does {i} help?",
            "CONTEXTS": [f"We tried {i}.", "It was tried."],
            "final_decision": "yes",
        }
        for i in range(4)
    }
    put("pubmedqa", "data/ori_pqal.json", json.dumps(abstracts))
    put("pubmedqa", "data/test_ground_truth.json", json.dumps({"3": "yes"}))


class Sources(unittest.TestCase):
    """Every domain is built of a made-up source."""

    def test_build(self) -> None:
        """Counts passages and questions, and compares the files with a list of sums."""
        with tempfile.TemporaryDirectory() as at:
            folder = Path(at)
            made_up(folder / "sources")
            sums = folder / "sums"
            sums.write_text("")
            arguments = ["--sources", str(folder / "sources"), "--out", str(folder / "out"), "--sums", str(sums)]
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                self.assertEqual(build.main(arguments), 0)
            for line in (
                "wiki: 10 passages, 1 test, 1 dev, 8 train",
                "amazon: 10 passages, 1 test, 1 dev, 8 train",
                "nq: 1 passages, 0 test, 0 dev, 1 train",
                "fairytale: 4 passages, 2 test, 2 dev, 2 train",
                "policy: 2 passages, 1 test, 0 dev, 1 train",
                "covid: 1 passages, 0 test, 0 dev, 1 train",
                "medquad: 3 passages, 0 test, 0 dev, 1 train",
                "pubmedqa: 4 passages, 1 test, 0 dev, 3 train",
            ):
                self.assertIn(line, said.getvalue())
            read = lambda name: [json.loads(x) for x in unpacked(folder / "out" / name).splitlines()]
            self.assertEqual(
                read("policy/questions.test.jsonl")[0],
                {
                    "id": "policy-test-0",
                    "question": "shop.example: What is sold?",
                    "answers": ["your data"],
                    "positive_ids": ["policy:0"],
                    "source_question": "What is sold?",
                },
            )
            self.assertEqual(read("covid/passages.jsonl")[0]["text"], "Abstract: Masks help.")
            self.assertEqual(read("covid/passages.jsonl")[0]["title"], "A paper")
            self.assertEqual(len(read("medquad/questions.train.jsonl")[0]["positive_ids"]), 3)
            self.assertEqual(read("fairytale/questions.train.jsonl")[1]["free_answers"], ["It was tired"])
            self.assertEqual(read("pubmedqa/questions.test.jsonl")[0]["label"], "yes")

            name = "wiki/passages.jsonl"
            right = hashlib.sha256(unpacked(folder / "out" / name)).hexdigest()
            sums.write_text(f"{right}  {name}\n")
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                self.assertEqual(build.main(arguments), 0)
                sums.write_text(f"{'0' * 64}  {name}\n")
                self.assertEqual(build.main(arguments), 1)
            self.assertIn(f"{name}: its SHA-256 is {right}", said.getvalue())

    def test_committed(self) -> None:
        """Sees that the committed list has three files of each domain."""
        text = (Path(build.__file__).parent / "SHA256SUMS").read_text()
        names = sorted(line.split()[1] for line in text.splitlines())
        files = ("passages", "questions.dev", "questions.train")
        self.assertEqual(names, sorted(f"{d}/{f}.jsonl" for d in SOURCES for f in files))


class MadeByRules(unittest.TestCase):
    """The rules, each by itself."""

    def test_blocks(self) -> None:
        """Cuts a long text into disjoint blocks that end at sentence ends, and leaves a short one whole."""
        places = blocks(LONG, 180, 100)
        self.assertEqual([count(LONG[a:b]) for a, b in places], [98, 98, 84])
        self.assertEqual("".join(LONG[a:b] for a, b in places), LONG)
        self.assertTrue(all(LONG[a:b].rstrip().endswith(".") for a, b in places))
        self.assertEqual(blocks("One. Two.", 180, 100), [(0, 9)])

    def test_questions(self) -> None:
        """Merges equal questions and passages, drops answers that are cut, and keeps a text in one split."""
        edge = LONG.index("Sentence number 14")
        cut = LONG[edge - 10 : edge + 10]
        documents = [
            Document(
                "a",
                "A",
                [Context(LONG, [Asked("cut?", [(edge - 10, cut)]), Asked("first?", [(0, "Sentence")])])],
                "train",
            ),
            Document("b", "B", [Context("Same text.", [Asked("same?", [(0, "Same")])])], "train"),
            Document("c", "C", [Context("Same text.", [Asked("same?", [(5, "text")])])], "train"),
            Document("d", "D", [Context("Other.", [Asked("same?", [(0, "Other")])])], "test"),
        ]
        passages, questions = make(documents, Rules("x"))
        self.assertEqual(len(passages), 5)
        self.assertEqual([q["question"] for q in questions["train"]], ["first?"])
        self.assertEqual(questions["test"][0]["positive_ids"], ["x:4"])
        _, questions = make(documents[:3], Rules("x"))
        self.assertEqual(questions["train"][1]["answers"], ["Same", "text"])
        self.assertEqual(questions["train"][1]["positive_ids"], ["x:3"])
        _, questions = make(documents[:3], Rules("x", one_document=True))
        self.assertEqual([q["question"] for q in questions["train"]], ["first?"])


if __name__ == "__main__":
    unittest.main()
