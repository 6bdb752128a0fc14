"""How often a server's first passage is right when the question stands among talk.

    conclave serve --collection demo-index --read-only &
    python3 measure.py http://127.0.0.1:8080 --questions test.jsonl --talk talk-mail.txt talk-log.txt --limit 60 --seed 7

Questions are drawn by the seed, and each is put into one of the talks in turn, last, first
and in the middle of so many words. The lines of a talk stay lines with --lines.
"""

import argparse
import json
import random
import urllib.request

from compose import compose, talk_of

PLACES = ["last", "first", "middle"]


def ask(url, question):
    body = json.dumps({"question": question, "k": 1, "fields": [], "timeout_ms": 10000})
    request = urllib.request.Request(url + "/v1/search", body.encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def right(answer, row):
    return any(result["id"] in row["positive_ids"] for result in answer["results"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--questions", required=True, help="JSON Lines with question and positive_ids")
    parser.add_argument("--talk", required=True, nargs="+", help="files of a sentence or line a line")
    parser.add_argument("--words", type=int, nargs="+", default=[40, 100, 300, 1300])
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lines", action="store_true", help="lines stay lines, in the place of sentences of one text")
    parser.add_argument("--wrong", action="store_true", help="print what was asked in the place of each question")
    given = parser.parse_args()
    talks = []
    for name in given.talk:
        with open(name, encoding="utf-8") as file:
            talks.append([line.rstrip() for line in file if line.strip()])
    with open(given.questions, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    draw = random.Random(given.seed)
    rows = draw.sample(rows, min(given.limit, len(rows)))
    starts = [draw.random() for _ in rows]
    alone = [right(ask(given.url, row["question"]), row) for row in rows]
    print(f"{len(rows)} questions alone: {100 * sum(alone) / len(rows):.0f}")
    print("| words | " + " | ".join(PLACES) + " | milliseconds |\n| --- |" + " --- |" * (len(PLACES) + 1))
    for words in given.words:
        cells, took = [], []
        for place in PLACES:
            found = []
            for i, row in enumerate(rows):
                talk = talks[i % len(talks)]
                parts = talk_of(talk, int(starts[i] * len(talk)), words)
                text = compose(row["question"], parts, place, False, "\n" if given.lines else " ")
                answer = ask(given.url, text)
                found.append(right(answer, row))
                took.append(answer["took_ms"])
                if given.wrong and alone[i] and not found[-1]:
                    print(f"  {words} {place} {given.talk[i % len(talks)]}: {row['question']!r} asked as {answer.get('asked')!r}")
            cells.append(f"{100 * sum(found) / len(rows):.0f}")
        print(f"| {words:,} | " + " | ".join(cells) + f" | {sorted(took)[len(took) // 2]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
