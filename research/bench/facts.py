"""Asks questions about small documents with tables, prices, deadlines and conditions, and prints how often the words
that are marked are right: as the headline of the answer (`headline`) and in all, by their chance.

    conclave index --collection facts --in research/bench/facts/documents
    conclave serve --collection facts
    python3 research/bench/facts.py --url http://127.0.0.1:8080

Words are right if they have one of the accepted texts of the question and few other words. --out writes one line of
JSON for each question.
"""
import argparse
import json
import pathlib
import re
import urllib.request

HERE = pathlib.Path(__file__).parent / "facts" / "questions.tsv"
MOST_OTHER_WORDS = 8  # beside the accepted text


def words(text):
    return re.findall(r"\w+(?:[.,:]\d+)*", text.lower())


def right(said, accepted, whole=False):
    """Reports whether the words that were marked are one of the accepted texts, with few other words; any others if
    they are a whole row of a table."""
    got = words(said)
    for text in accepted:
        want = words(text)
        found = any(got[i : i + len(want)] == want for i in range(len(got) - len(want) + 1))
        if found and (whole or len(got) - len(want) <= MOST_OTHER_WORDS):
            return True
    return False


def search(url, question):
    body = json.dumps({"question": question, "k": 5, "answer": True, "fields": ["text", "document"]}).encode()
    request = urllib.request.Request(url + "/v1/search", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def row(url, document, question, accepted):
    got = search(url, question)
    first = (got.get("answers") or [None])[0]
    top = got["results"][0] if got["results"] else {}
    return {
        "question": question,
        "document": document,
        "first": top.get("document", {}).get("id") == document,
        "verdict": got.get("verdict"),
        "confidence": got.get("confidence"),
        "words": first and first["text"],
        "chance": first and first.get("chance"),
        "headline": bool(first and first.get("headline")),
        "right": bool(first) and right(first["text"], accepted, bool(first.get("row")) and not first["headline"]),
        "answers": got.get("answers") or [],
    }


def share(rows):
    return f"{sum(r['right'] for r in rows)} of {len(rows)}" if rows else "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--questions", type=pathlib.Path, default=HERE)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    lines = options.questions.read_text().splitlines()
    rows = []
    for line in lines:
        document, question, accepted = line.split("\t")
        rows.append(row(options.url, document, question, accepted.split("|")))
    if options.out:
        options.out.write_text("".join(json.dumps(r) + "\n" for r in rows))
    marked = [r for r in rows if r["words"]]
    print(f"questions: {len(rows)}; right document first: {sum(r['first'] for r in rows)}")
    print(f"words are marked: {len(marked)}, right: {share(marked)}")
    print(f"as the headline, right: {share([r for r in marked if r['headline']])}")
    print(f"as a row of a table, right: {share([r for r in marked if r['answers'][0].get('row')])}")
    for low, high in [(0, 0.1), (0.1, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01)]:
        print(f"chance {low} to {min(high, 1)}, right: {share([r for r in marked if low <= r['chance'] < high])}")


if __name__ == "__main__":
    main()
