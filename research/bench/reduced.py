"""A smaller union of the domains, for machines that cannot encode all of it.

    python3 research/bench/reduced.py DATA OUT [TOTAL]

OUT gets DOMAIN.dev.jsonl: the development questions (of medquad 400, by a hash of their
ids); and passages.jsonl: TOTAL passages (default 6,000), all that answer these, and
others of the eight domains, by a hash.
"""

import pathlib
import sys

from draw import by_hash, read, write

DOMAINS = "wiki amazon fairytale medquad policy nq covid pubmedqa".split()

hash_of = by_hash("reduced")
data, out = map(pathlib.Path, sys.argv[1:3])
total = int(sys.argv[3]) if len(sys.argv) > 3 else 6000
out.mkdir(parents=True, exist_ok=True)
answers, others = [], []
for domain in DOMAINS:
    questions = read(data / domain / "questions.dev.jsonl.gz")
    if domain == "medquad":
        questions = sorted(questions, key=hash_of)[:400]
    write(out / f"{domain}.dev.jsonl", questions)
    right = {id for q in questions for id in q["positive_ids"]}
    for passage in read(data / domain / "passages.jsonl.gz"):
        (answers if passage["id"] in right else others).append(passage)
others.sort(key=hash_of)
write(out / "passages.jsonl", answers + others[: max(0, total - len(answers))])
