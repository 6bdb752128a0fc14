"""How often a server's first passage is right when questions are mistyped.

    conclave serve --collection demo-index --read-only &
    python3 research/bench/typos.py http://127.0.0.1:8080 shipped/demo/questions/test.jsonl

A letter of a word of five letters or more is dropped, added, replaced or swapped with the next one, 0 to 3 times a
question, by a seed.
"""

import json
import random
import re
import sys
import urllib.request

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def typo(word, draw):
    kind, i = draw.randrange(4), draw.randrange(len(word) - 1)
    if kind == 0:
        return word[:i] + word[i + 1 :]
    if kind == 1:
        return word[:i] + draw.choice(LETTERS) + word[i:]
    if kind == 2:
        return word[:i] + draw.choice([c for c in LETTERS if c != word[i].lower()]) + word[i + 1 :]
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def mistyped(question, times, draw):
    for _ in range(times):
        if words := list(re.finditer("[A-Za-z]{5,}", question)):
            at = draw.choice(words)
            question = question[: at.start()] + typo(at.group(), draw) + question[at.end() :]
    return question


def first(url, question, correct):
    body = json.dumps({"question": question, "k": 1, "fields": [], "timeout_ms": 9000, "correct": correct})
    request = urllib.request.Request(url + "/v1/search", body.encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return [result["id"] for result in json.load(answer)["results"]]


def main(url, path, seed=1):
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    for times in range(4):
        for correct in (False, True):
            draw = random.Random(10 * int(seed) + times)
            asked = [(row, mistyped(row["question"], times, draw)) for row in rows]
            right = sum(any(i in row["positive_ids"] for i in first(url, question, correct)) for row, question in asked)
            print(f"{times} mistyped, correct {correct}: {100 * right / len(rows):.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
