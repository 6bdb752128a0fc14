"""Draws what every method finds for one question, as SVG.

    conclave index --collection demo-many --experts all --granularity 1,3 --in shipped/demo/passages/tales.jsonl …
    conclave serve --collection demo-many --listen 127.0.0.1:9000 &
    python3 research/bench/many/side_by_side.py http://127.0.0.1:9000 shipped/demo/questions/dev.jsonl ID > docs/evidence/side-by-side.svg

ID is a question's. The columns are methods, with the encoder passes that they take; the
rows the passages in their order. Those that answer are marked.
"""

import json
import sys
import urllib.request
from html import escape

SHOWN = 4
WIDTH, COLUMN, ROW, TOP = 960, 116, 40, 118
SPECIALISTS = ["amazon", "covid", "fairytale", "medquad", "nq", "policy", "wiki"]
ALONE = {"fusion": "sum", "normalisation": "raw", "bm25": False}
METHODS = (  # name, below it, request
    ("base", "1 pass", {**ALONE, "experts": ["base"]}),
    ("sentences", "1 pass", {**ALONE, "experts": ["base@1"]}),
    ("CCE", "1 pass", {"fusion": "cce", "experts": ["base@1", "base@3", "base"]}),
    ("DESIRE-ME", "1 pass", {**ALONE, "experts": ["desire-me"]}),
    ("MUF", "7 passes", {"fusion": "muf", "experts": SPECIALISTS, "bm25": False}),
    ("BM25", "no pass", {"fusion": "rrf", "experts": []}),
    ("hybrid", "DESIRE-ME + BM25", {"fusion": "hybrid", "experts": ["desire-me"]}),
    ("gate", "3 passes", {"fusion": "gate"}),
)


def ask(server, question, request):
    body = json.dumps({"question": question, "k": 50, "fields": ["title"], **request}).encode()
    with urllib.request.urlopen(urllib.request.Request(server + "/v1/search", body, {"content-type": "application/json"})) as response:
        return json.load(response)["results"]


def short(text, most):
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def main():
    server, file, wanted = sys.argv[1:4]
    with open(file) as lines:
        question = next(q for q in map(json.loads, lines) if q["id"] == wanted)
    found = [ask(server, question["question"], request) for _, _, request in METHODS]
    places = []
    for results in found:
        rank = next((n for n, r in enumerate(results, 1) if r["id"] in question["positive_ids"]), None)
        places.append(f"rank {rank}" if rank else "not found")
    told = ", ".join(f"{name} {place}" for (name, _, _), place in zip(METHODS, places))
    height = TOP + SHOWN * ROW + 44
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="t d" font-family="system-ui, -apple-system, \'Segoe UI\', sans-serif" font-size="11">',
        '<title id="t">One question under every method</title>',
        f'<desc id="d">The first {SHOWN} passages of each method side by side. The passage that answers: {escape(told)}.</desc>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fbfaf7"/>',
        f'<text x="16" y="34" font-size="15" font-weight="600" fill="#1f2430">{escape(question["question"])}</text>',
        '<text x="16" y="56" font-size="12" fill="#5b6472">the first passages of each method, by their titles; the one that answers is filled, and its rank is below</text>',
    ]
    for column, ((name, cost, _), results, place) in enumerate(zip(METHODS, found, places)):
        x = 16 + column * COLUMN
        out.append(f'<text x="{x}" y="86" font-size="13" font-weight="600" fill="#1f2430">{escape(name)}</text><text x="{x}" y="103" fill="#5b6472">{cost}</text>')
        for row, result in enumerate(results[:SHOWN]):
            y, right = TOP + row * ROW, result["id"] in question["positive_ids"]
            fill, ink, line = ("#1f6f78", "#fff", "#1f6f78") if right else ("#fff", "#1f2430", "#cfd5d2")
            out.append(
                f'<rect x="{x}" y="{y}" width="{COLUMN - 8}" height="{ROW - 6}" rx="4" fill="{fill}" stroke="{line}"/>'
                f'<text x="{x + 6}" y="{y + 15}" fill="{ink}">{escape(short(result.get("title") or result["id"], 18))}</text>'
                f'<text x="{x + 6}" y="{y + 28}" font-size="10" fill="{ink}" fill-opacity="0.75">{escape(result["id"])}</text>'
            )
        out.append(f'<text x="{x}" y="{TOP + SHOWN * ROW + 16}" font-weight="600" fill="#1f6f78">{place}</text>')
    print("\n".join(out) + "\n</svg>")


if __name__ == "__main__":
    main()
