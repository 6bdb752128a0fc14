"""Asks conversations over small documents and prints how often the first passage answers a follow-up: with the messages
before it, by itself, and written out.

    conclave index --collection facts --in research/bench/facts/documents
    conclave serve --collection facts
    python3 research/bench/follow_ups.py --url http://127.0.0.1:8080

A passage answers if it is of the document of the message and has one of its accepted texts. --out writes one line of
JSON for each follow-up. --half even or odd asks every second conversation.
"""
import argparse
import json
import pathlib
import urllib.request

HERE = pathlib.Path(__file__).parent / "facts" / "conversations.tsv"
WAYS = ("messages", "alone", "written out")


def search(url, body):
    body = json.dumps(body | {"k": 5, "fields": ["text", "document"]}).encode()
    request = urllib.request.Request(url + "/v1/search", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def answers(result, document, accepted):
    id = (result.get("document") or {}).get("id", "")
    text = " ".join(result.get("text", "").split())
    return id.split("/")[-1] == document and any(a in text for a in accepted)


def rank(got, document, accepted):
    for n, result in enumerate(got["results"], 1):
        if answers(result, document, accepted):
            return n
    return 0


def conversations(half):
    all = {}
    for line in HERE.read_text().splitlines():
        number, document, message, alone, accepted = line.split("\t")
        all.setdefault(int(number), []).append((document, message, alone, accepted.split("|")))
    return [turns for number, turns in all.items() if half == "all" or number % 2 == (half == "odd")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--half", default="all", choices=["all", "even", "odd"])
    parser.add_argument("--answer", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    rows = []
    for turns in conversations(options.half):
        said = []
        for n, (document, message, alone, accepted) in enumerate(turns):
            said.append({"role": "user", "content": message})
            if n == 0:
                continue
            asked = dict(zip(WAYS, ({"messages": said}, {"question": message}, {"question": alone})))
            row = {"document": document, "message": message, "changes": document != turns[n - 1][0]}
            for way, body in asked.items():
                got = search(options.url, body | ({"answer": True} if options.answer else {}))
                row[way] = rank(got, document, accepted)
                row[way + " verdict"] = got.get("verdict")
                row[way + " asked"] = got.get("asked")
            rows.append(row)
    for way in WAYS:
        first, five = sum(r[way] == 1 for r in rows), sum(r[way] > 0 for r in rows)
        doubted = sum(r[way + " verdict"] != "found" for r in rows)
        print(f"{way:12} first {first} in five {five} of {len(rows)}, not found {doubted}")
    changed = [r for r in rows if r["changes"]]
    print(f"changes of subject: first {sum(r['messages'] == 1 for r in changed)} of {len(changed)}")
    if options.out:
        pathlib.Path(options.out).write_text("".join(json.dumps(r) + "\n" for r in rows))


if __name__ == "__main__":
    main()
