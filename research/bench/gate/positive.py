"""Leaves the passages out that are among a question's positives and have the grade 0."""

import gzip
import json
import sys

with gzip.open(sys.argv[1], "rt", encoding="utf-8") as lines, open(sys.argv[2], "w", encoding="utf-8") as out:
    for line in lines:
        question = json.loads(line)
        grades = question.get("grades") or {}
        if grades:
            question["positive_ids"] = [p for p in question["positive_ids"] if grades.get(p, 0) > 0]
            question["grades"] = {p: g for p, g in grades.items() if g > 0}
        if question["positive_ids"]:
            out.write(json.dumps(question) + "\n")
