"""How often questions name what stands in no passage: those that a collection answers, and those of other domains.

    python3 research/bench/named.py DATA [--domains demo,policy,wiki]

DATA is what research/data/build.py made. A name is a number of three digits or more, or a word with a capital letter inside
a sentence, of a question in which no more words are so than are not. Up to 150 questions of each domain, and ten of each
other one, are compared with the domain's passages, by whole words. Nothing is searched.
"""

import argparse
import gzip
import json
import random
import re
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "shipped" / "demo"


def rows(path: Path) -> list[dict]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        return [json.loads(line) for line in lines]


def words_of(data: Path, domain: str) -> set[str]:
    paths = sorted((DEMO / "passages").glob("*.jsonl")) if domain == "demo" else [data / domain / "passages.jsonl.gz"]
    passages = [row for path in paths for row in rows(path)]
    return {word for row in passages for word in re.findall(r"\w+", f"{row.get('title', '')} {row['text']}".lower())}


def questions(data: Path, domain: str, limit: int) -> list[str]:
    dev, test = data / domain / "questions.dev.jsonl.gz", data / domain / "questions.test.jsonl.gz"
    path = DEMO / "questions" / "dev.jsonl" if domain == "demo" else dev if dev.exists() else test
    asked = [row["question"] for row in rows(path) if row.get("positive_ids")]
    random.Random(1).shuffle(asked)
    return asked[:limit]


def names(question: str) -> list[str]:
    bare = [re.sub(r"^\W+|\W+$", "", word) for word in question.split()]
    inside = [i for i in range(1, len(bare)) if bare[i] and question.split()[i - 1][-1] not in ".?!:;"]
    capital = [bare[i] for i in inside if bare[i][0].isupper() and len(bare[i]) > 1]
    if 2 * len(capital) > len(inside):
        capital = []
    return capital + [word for word in bare if len(re.findall(r"\d", word)) >= 3]


def share(asked: list[str], known: set[str]) -> float:
    lacking = sum(any(not set(re.findall(r"\w+", name.lower())) <= known for name in names(q)) for q in asked)
    return 100 * lacking / len(asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--domains",
                        default="demo,policy,wiki,nq,amazon,fairytale,covid,medquad,pubmedqa,scifact,nfcorpus,cacm,cranfield")
    options = parser.parse_args()
    domains = options.domains.split(",")
    own, foreign = [], []
    for domain in domains:
        known = words_of(options.data, domain)
        own.append(share(questions(options.data, domain, 150), known))
        foreign.append(share([q for other in domains if other != domain for q in questions(options.data, other, 10)], known))
        print(f"{domain}: own {own[-1]:.1f}, foreign {foreign[-1]:.1f}", flush=True)
    print(f"mean: own {sum(own) / len(own):.1f}, foreign {sum(foreign) / len(foreign):.1f}")


if __name__ == "__main__":
    main()
