"""Puts questions into talk, for measuring what long questions cost.

    python3 compose.py --questions test.jsonl --talk talk-test.txt --words 300 --place last > long.jsonl
    conclave evaluate --collection demo --questions long.jsonl ...

Each question is a sentence among so many words of talk, which has nothing to do with it:
the sentences of a file, from a place that the question's number decides. With --roles it
is a transcript, whose lines begin with who says them.
"""

import argparse
import json
import sys


def talk_of(sentences, start, words):
    """Sentences from a place on, with at most so many words, and at least one if any are asked for."""
    out, n = [], 0
    for i in range(len(sentences) * 3):
        sentence = sentences[(start + i) % len(sentences)]
        more = len(sentence.split())
        if n + more > words and (out or words == 0):
            break
        out.append(sentence)
        n += more
    return out


def compose(question, talk, place, roles, between=" "):
    at = {"first": 0, "middle": len(talk) // 2, "last": len(talk)}[place]
    parts = talk[:at] + [question] + talk[at:]
    if not roles:
        return between.join(parts)
    lines = []
    for i in range(0, len(parts), 3):
        lines.append(("User: " if (len(parts) - 1 - i) // 3 % 2 == 0 else "Assistant: ") + " ".join(parts[i : i + 3]))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", required=True, help="JSON Lines with question and positive_ids")
    parser.add_argument("--talk", required=True, help="a sentence a line")
    parser.add_argument("--words", type=int, required=True)
    parser.add_argument("--place", choices=["first", "middle", "last"], default="last")
    parser.add_argument("--roles", action="store_true")
    parser.add_argument("--limit", type=int, default=0, help="of the questions, so many, evenly spread")
    given = parser.parse_args()
    sentences = [line.strip() for line in open(given.talk, encoding="utf-8") if line.strip()]
    questions = [json.loads(line) for line in open(given.questions, encoding="utf-8") if line.strip()]
    if given.limit and given.limit < len(questions):
        questions = [questions[i * len(questions) // given.limit] for i in range(given.limit)]
    for i, q in enumerate(questions):
        talk = talk_of(sentences, i * 37 % len(sentences), given.words)
        q["question"] = compose(q["question"], talk, given.place, given.roles)
        json.dump(q, sys.stdout, ensure_ascii=False)
        print()


if __name__ == "__main__":
    main()
