"""A sample of a collection for machines that cannot encode all of it, with the questions that it answers.

    python3 research/bench/sample.py DATA/scifact OUT [PASSAGES]

OUT gets passages.jsonl: so many passages (default 700), by a hash of their ids, half of
them answers of development and training questions where there are others; and
questions.jsonl: these questions if an answer is among the passages, with these answers
alone. A passage that is graded 0 is no answer.
"""

import pathlib
import sys

from draw import by_hash, read, write

data, out = map(pathlib.Path, sys.argv[1:3])
count = int(sys.argv[3]) if len(sys.argv) > 3 else 700
out.mkdir(parents=True, exist_ok=True)
asked = []
for split in ("dev", "train"):
    for q in read(data / f"questions.{split}.jsonl.gz"):
        q["positive_ids"] = [id for id in q["positive_ids"] if q.get("grades", {}).get(id, 1) > 0]
        asked.append(q)
right = {id for q in asked for id in q["positive_ids"]}
passages = sorted(read(data / "passages.jsonl.gz"), key=by_hash("sample"))
answers, others = ([p for p in passages if (p["id"] in right) == wanted] for wanted in (True, False))
half = count // 2
chosen = (answers[:half] + others[: count - half] + answers[half:] + others[count - half :])[:count]
there = {p["id"] for p in chosen}
write(out / "passages.jsonl", chosen)
write(out / "questions.jsonl", [
    {"id": q["id"], "question": q["question"], "positive_ids": ids} for q in asked if (ids := [id for id in q["positive_ids"] if id in there])
])  # fmt: skip
