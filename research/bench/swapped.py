"""How often a question whose name or number was exchanged for another one is still `found`.

    conclave index --collection COLLECTION --in PASSAGES.jsonl
    conclave serve --collection COLLECTION &
    python3 research/bench/swapped.py --questions QUESTIONS.jsonl [--url http://127.0.0.1:8080] [--answer]

A line of QUESTIONS has `question`, `positive_ids` and, where there are several, `domain`. In each question that has a
word with a capital letter inside the sentence, that is exchanged for one of another question of the domain; in one with a
number of three digits or more, one of its digits is exchanged. Both questions are asked. A pair counts where the exchanged
question has the passage of the other one first, which is then about something else.
"""

import argparse
import collections
import json
import random
import re
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NAME = re.compile(r"(?<=[a-z,] )([A-Z][\w'&.-]*[a-z](?: [A-Z][\w'&.-]*[a-z])*)")
NUMBER = re.compile(r"(?<![\w.])(\d{3,})(?!\w)")


def exchanged(question: str, names: list[str], draw: random.Random) -> tuple[str, str] | None:
    """Returns a question about something else and what was exchanged, name or number; None where there is nothing."""
    if number := NUMBER.search(question):
        digits = number[1]
        at = draw.randrange(1, len(digits))
        other = draw.choice([d for d in "0123456789" if d != digits[at]])
        return question[: number.start(1) + at] + other + question[number.start(1) + at + 1 :], "number"
    if name := NAME.search(question):
        others = [n for n in names if not set(n.split()) & set(question.replace("?", "").split())]
        if others:
            return question[: name.start(1)] + draw.choice(others) + question[name.end(1) :], "name"
    return None


def ask(url: str, question: str, answer: bool) -> dict:
    """Returns what the server answers; it waits where that has too much to do."""
    body = json.dumps({"question": question, "k": 5, "answer": answer, "timeout_ms": 9000}).encode()
    request = urllib.request.Request(url + "/v1/search", body, {"content-type": "application/json"})
    for _ in range(50):
        try:
            with urllib.request.urlopen(request) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 504):
                raise
            time.sleep(0.3)
    raise TimeoutError(question)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", required=True)
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--answer", action="store_true", help="with the reader")
    args = parser.parse_args()
    draw = random.Random(11)
    questions = [q for q in map(json.loads, Path(args.questions).read_text().splitlines()) if q.get("positive_ids")]
    names = collections.defaultdict(list)
    for q in questions:
        names[q.get("domain", "")] += NAME.findall(q["question"])
    pairs = [(q, exchanged(q["question"], names[q.get("domain", "")], draw)) for q in questions]
    with ThreadPoolExecutor(2) as at_once:
        own = list(at_once.map(lambda pair: ask(args.url, pair[0]["question"], args.answer), pairs))
        other = list(at_once.map(lambda pair: pair[1] and ask(args.url, pair[1][0], args.answer), pairs))

    def first(q: dict, answer: dict) -> bool:
        return bool(answer["results"]) and answer["results"][0]["id"] in q["positive_ids"]

    right = [r for (q, _), r in zip(pairs, own) if first(q, r)]
    print(f"{len(questions)} questions, {len(right)} with the right passage first, of which {sum(r['verdict'] != 'found' for r in right)} are not `found`")
    for kind in ("name", "number"):
        wrong = [r for (q, pair), r in zip(pairs, other) if pair and pair[1] == kind and first(q, r)]
        print(f"{kind} exchanged: {len(wrong)} with the same passage first, of which {sum(r['verdict'] != 'found' for r in wrong)} are not `found`")


if __name__ == "__main__":
    main()
