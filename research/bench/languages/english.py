"""Small English collections, on which the confidences of the encoder for many languages are fitted beside others.

    python3 research/bench/languages/english.py DATA OUT [PASSAGES]

For each of seven domains of DATA, OUT gets NAME.passages.jsonl and NAME.questions.jsonl: a hundred questions that no
head was trained on, chosen by a hash of their ids, the passages that answer them, and others up to so many (300).
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1]))
from draw import by_hash, read, write  # noqa: E402

SPLITS = dict.fromkeys(["wiki", "nq", "policy", "amazon", "covid", "medquad"], "dev") | {"pubmedqa": "train"}
data, out = map(pathlib.Path, sys.argv[1:3])
count = int(sys.argv[3]) if len(sys.argv) > 3 else 300
out.mkdir(parents=True, exist_ok=True)
for name, split in SPLITS.items():
    asked = [
        {"id": q["id"], "question": q["question"], "positive_ids": right}
        for q in read(data / name / f"questions.{split}.jsonl.gz")
        if (right := [id for id in q["positive_ids"] if q.get("grades", {}).get(id, 1) > 0])
    ]
    asked = sorted(asked, key=by_hash("languages"))[:100]
    right = {id for q in asked for id in q["positive_ids"]}
    passages = sorted(read(data / name / "passages.jsonl.gz"), key=by_hash("languages"))
    chosen = [p for p in passages if p["id"] in right]
    others = [p for p in passages if p["id"] not in right]
    write(out / f"{name}.passages.jsonl", chosen + others[: max(0, count - len(chosen))])
    write(out / f"{name}.questions.jsonl", asked)
