"""Writes dpr.tsv as DPR's psgs_w100.tsv is written and dpr.jsonl with what
Python's csv module reads from it: python3 dpr.py"""
import csv, json

rows = [
    ("1", "Plain text, no quotes at all.", "Plain"),
    ("2", 'He said "yes" and left.', 'The "Yes" Man'),
    ("3", '"Heroes" is a song.', '"Heroes" (song)'),
    ("4", "A tab\tinside.", "White space"),
    ("5", "No title here.", ""),
    ("6", "Łódź, 東京, naïve café 😀.", "Ünïcode"),
    ("7", '"', '""'),
    ("8", "ends with a quote\"", "x"),
    ("9", "back\\slash \\n stays", "Back\\slash"),
]
with open("dpr.tsv", "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f, delimiter="\t", lineterminator="\n")
    w.writerow(["id", "text", "title"])
    w.writerows(rows)
    # A quote that does not begin a field is an ordinary character.
    f.write('10\tfive 5" disks and "more"\tDisks 3.5"\n')
with open("dpr.tsv", newline="", encoding="utf-8") as f, open("dpr.jsonl", "w", encoding="utf-8") as out:
    for row in csv.DictReader(f, delimiter="\t"):
        out.write(json.dumps({"id": row["id"], "title": row["title"], "text": row["text"]}, ensure_ascii=False) + "\n")
