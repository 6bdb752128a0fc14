"""How often the part of a passage that a granularity found holds the annotated answer.

    python3 research/bench/many/highlights.py http://127.0.0.1:9000 EXPERT,EXPERT DOMAIN=QUESTIONS...

Asks a server every question that has answers, by cce among the named granularities.
Counted are the first passages that answer; their `highlight` is looked at, without
regard to case and to how words are separated. QUESTIONS are JSON Lines, plain or gzip-compressed.
"""

import gzip
import json
import re
import sys
import urllib.request


def plain(text):
    return " ".join(re.findall(r"\w+", text.lower()))


def first(server, question, experts):
    body = {"question": question, "fusion": "cce", "experts": experts, "k": 1, "fields": ["text", "highlights"]}
    request = urllib.request.Request(server + "/v1/search", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return next(iter(json.load(response)["results"]), None)


def main():
    server, experts = sys.argv[1], sys.argv[2].split(",")
    print("| domain | questions | first passages that answer | whose highlight holds the answer | length of the highlight, share of the passage |")
    print("| --- | ---: | ---: | ---: | ---: |")
    rows = []
    for argument in sys.argv[3:]:
        domain, _, file = argument.partition("=")
        with (gzip.open if file.endswith(".gz") else open)(file, "rt") as lines:
            questions = [q for q in map(json.loads, lines) if q.get("answers")]
        right = holds = share = 0
        for q in questions:
            hit = first(server, q["question"], experts)
            if hit is None or hit["id"] not in q["positive_ids"]:
                continue
            text, mark = hit["text"].encode(), hit["highlight"]
            part = plain(text[mark["start"] : mark["end"]].decode())
            right += 1
            holds += any(f" {plain(answer)} " in f" {part} " for answer in q["answers"])
            share += (mark["end"] - mark["start"]) / len(text)
        rows.append((domain, len(questions), right, holds, share))
    rows.append(("all", *(sum(column) for column in list(zip(*rows))[1:])))
    for domain, asked, right, holds, share in rows:
        print(f"| {domain} | {asked:,} | {right:,} | {holds:,} ({100 * holds / max(right, 1):.1f} %) | {100 * share / max(right, 1):.0f} % |")


if __name__ == "__main__":
    main()
