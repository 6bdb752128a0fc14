"""Writes qas.csv as DPR's files are written (Python's csv with TABs, answers as
repr of a list), and qas.json with what went in. Run it again after changing the
texts: python3 qas.py"""
import csv
import json
from pathlib import Path

ROWS = [
    ("who sang the first song", ["Ann O'Neil", 'the "Queen"']),
    ('what is "it"', ["it's \"both\"", "back\\slash", "new\nline", "tab\there"]),
    ('"quoted" from the start', ["a"]),
    ("a question with a 'quote'", ["[not a list]", "a, b", "']"]),
    ("wer ist Röntgen", ["Wilhelm Conrad Röntgen", "日本", "😀", "\u200b x", "\xa0"]),
    ("how many", ["1,600", "", "10"]),
    ("the end", ["\\", "\\'", '\\"', "'\"'"]),
]


def main():
    here = Path(__file__).parent
    with open(here / "qas.csv", "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter="\t")
        for question, answers in ROWS:
            writer.writerow([question, repr(answers)])
    (here / "qas.json").write_text(json.dumps([{"question": q, "answers": a} for q, a in ROWS], indent=1) + "\n")


main()
