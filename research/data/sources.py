"""The sources of the eight domains: which repository, at which commit, and how its files become documents."""

import csv
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from rules import Asked, Context, Document, Rules


@dataclass
class Source:
    """Where a domain comes from, how its files are read, and its rules."""

    repository: str
    commit: str
    read: Callable[[Path], list[Document]]
    rules: Rules


def squad(path: Path, split: str = "", titled: bool = True) -> list[Document]:
    """Returns the articles of a file in SQuAD's form."""
    out = []
    for i, article in enumerate(json.loads(path.read_text(encoding="utf-8"))["data"]):
        contexts = []
        for paragraph in article["paragraphs"]:
            asked = [
                Asked(qa["question"], [(a["answer_start"], a["text"]) for a in qa.get("answers", [])])
                for qa in paragraph["qas"]
                if not qa.get("is_impossible")
            ]
            contexts.append(Context(paragraph["context"], asked))
        title = article.get("title", "")
        out.append(Document(f"{title}#{i}", title.replace("_", " ") if titled else "", contexts, split))
    return out


def read_wiki(folder: Path) -> list[Document]:
    """Returns Wikipedia's articles of SQuADShifts."""
    return squad(folder / "datasets/new_wiki_v1.0.json")


def read_amazon(folder: Path) -> list[Document]:
    """Returns the reviews of SQuADShifts, which have no titles."""
    return squad(folder / "datasets/amazon_reviews_v1.0.json", titled=False)


def read_nq(folder: Path) -> list[Document]:
    """Returns the gold chunks of questions of Natural Questions, by article."""
    articles: dict[str, Document] = {}
    with gzip.open(folder / "qa_data/nq-open-oracle.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            gold = next(c for c in row["ctxs"] if c.get("isgold", c.get("hasanswer")))
            places = [(gold["text"].find(a), a) for a in row["answers"] if a in gold["text"]]
            document = articles.setdefault(gold["title"], Document(gold["title"], gold["title"], []))
            document.contexts.append(Context(gold["text"], [Asked(row["question"], places)]))
    return list(articles.values())


def read_fairytale(folder: Path) -> list[Document]:
    """Returns the stories of FairytaleQA by sections, in the official splits. Free answers are no spans."""
    out = []
    for name, split in (("train", "train"), ("val", "dev"), ("test", "test")):
        base = folder / "data-by-train-split"
        for path in sorted((base / "questions" / name).glob("*-questions.csv")):
            story = path.name.removesuffix("-questions.csv")
            with (base / "section-stories" / name / f"{story}-story.csv").open(encoding="utf-8") as f:
                sections = {row["section"]: Context(row["text"]) for row in csv.DictReader(f)}
            with path.open(encoding="utf-8") as f:
                for row in csv.DictReader(f):
                    numbers = [n.strip() for n in row["cor_section"].split(",") if n.strip() in sections]
                    answers = [row[k] for k in sorted(row) if k.startswith("answer") and row[k]]
                    if split == "train" and len(numbers) > 1:
                        words = set(" ".join([row["question"], *answers]).lower().split())
                        numbers = [max(numbers, key=lambda n: len(words & set(sections[n].text.lower().split())))]
                    for n in numbers:
                        text = sections[n].text
                        spans = [(text.find(a), a) for a in answers if a in text]
                        more = {} if spans else {"free_answers": answers}
                        sections[n].questions.append(Asked(row["question"], spans, more))
            out.append(Document(f"{name}/{story}", story.replace("-", " "), list(sections.values()), split))
    return out


def read_policy(folder: Path) -> list[Document]:
    """Returns the privacy policies of PolicyQA; the site is put in front of its questions."""
    test = squad(folder / "data/test.json", "test")
    dev = squad(folder / "data/dev.json")
    for document in test + dev:
        for context in document.contexts:
            for q in context.questions:
                q.more["source_question"] = q.text
                q.text = f"{document.title}: {q.text}"
    return test + dev


def read_covid(folder: Path) -> list[Document]:
    """Returns the papers of COVID-QA, from the mark of their abstract on."""
    out = squad(folder / "data/question-answering/200423_covidQA.json")
    for document in out:
        for context in document.contexts:
            cut = max(context.text.find("Abstract:"), 0)
            title = context.text[:cut].strip().split("\n")[0]
            document.title = document.title or title
            context.text = context.text[cut:]
            for q in context.questions:
                q.spans = [repaired(context.text, start - cut, answer) for start, answer in q.spans]
    return out


def repaired(text: str, start: int, answer: str) -> tuple[int, str]:
    """Returns an answer at the place next to the stated one where it really is."""
    found, at = [], text.find(answer)
    while at >= 0:
        found.append(at)
        at = text.find(answer, at + 1)
    return (min(found, key=lambda p: abs(p - start)) if found else start), answer


def read_medquad(folder: Path) -> list[Document]:
    """Returns the answers of MedQuAD by what they are about."""
    focuses: dict[str, Document] = {}
    for path in sorted(folder.glob("*_QA/*.xml")):
        root = ElementTree.parse(path).getroot()
        focus = (root.findtext("Focus") or "").strip()
        for pair in root.iter("QAPair"):
            answer = " ".join((pair.findtext("Answer") or "").split())
            question = (pair.findtext("Question") or "").strip()
            if answer and question:
                document = focuses.setdefault(focus, Document(focus, focus, []))
                document.contexts.append(Context(answer, [Asked(question)]))
    return list(focuses.values())


def read_pubmedqa(folder: Path) -> list[Document]:
    """Returns abstracts without their conclusions; the question is the title."""
    test = set(json.loads((folder / "data/test_ground_truth.json").read_text(encoding="utf-8")))
    out = []
    for key, row in json.loads((folder / "data/ori_pqal.json").read_text(encoding="utf-8")).items():
        asked = Asked(row["QUESTION"], more={"label": row["final_decision"]})
        context = Context(" ".join(row["CONTEXTS"]), [asked])
        out.append(Document(key, "", [context], "test" if key in test else ""))
    return out


SOURCES = {
    "wiki": Source(
        "modestyachts/squadshifts-website",
        "b7cc4d50af791c36c49417fb94dd739d6a9e7bef",
        read_wiki,
        Rules("wiki", one_document=True),
    ),
    "amazon": Source(
        "modestyachts/squadshifts-website",
        "b7cc4d50af791c36c49417fb94dd739d6a9e7bef",
        read_amazon,
        Rules("amazon", one_document=True),
    ),
    "nq": Source(
        "nelson-liu/lost-in-the-middle",
        "29b8a6d042ce29abccee3db1a73171a107d7e6af",
        read_nq,
        Rules("nq", whole=1000),
    ),
    "fairytale": Source(
        "uci-soe/FairytaleQAData",
        "a24ddc17364666b7c13a425b9970c87368b03417",
        read_fairytale,
        Rules("fairytale", whole=220, one_document=True, spans_only=False),
    ),
    "policy": Source(
        "wasiahmad/PolicyQA",
        "775538bc6d932e9d0dd16975d4373659cf8964fe",
        read_policy,
        Rules("policy", share=(0.85, 0.15)),
    ),
    "covid": Source(
        "deepset-ai/COVID-QA",
        "fb2eb5e249618457e5359806601086c635c8eb8f",
        read_covid,
        Rules("covid", one_document=True),
    ),
    "medquad": Source("abachaa/MedQuAD", "577bd37b96c02d1833b2c9eed2de9f96964e96cb", read_medquad, Rules("medquad")),
    "pubmedqa": Source(
        "pubmedqa/pubmedqa",
        "1cbae8e92f72f20c8d3747cbb3bf5bc53554d997",
        read_pubmedqa,
        Rules("pubmedqa", share=(0.9, 0.1)),
    ),
}
