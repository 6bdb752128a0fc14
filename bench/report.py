"""Writes docs/benchmarks.md and its curves from what bench/run measured.

    python3 bench/report.py bench-out docs

The folder holds machine.json and one JSON file for each measurement: ann-*.json
(ann/bench/ann_peer.py --json), words-*.json (bench/lucene -json) and
filters.json (conclave bench ann --filters --json). What is missing is left out.
"""

import html
import json
import math
import sys
from pathlib import Path

COLOURS = {"conclave": "#0b6e4f", "hnswlib": "#c2571a", "faiss": "#3b5ba9"}


def curves(figures, title):
    """An SVG of recall@100 against queries a second, one line for each index."""
    width, height, left, right, top, bottom = 640, 400, 64, 16, 40, 48
    points = [(p["recall100"], p["qps"]) for f in figures.values() for p in f["points"] if p["recall100"] >= 0.8]
    low = math.floor(min(x for x, _ in points) * 50) / 50
    bottom_power = math.floor(math.log10(min(y for _, y in points)) * 2) / 2
    top_power = math.ceil(math.log10(max(y for _, y in points)) * 2) / 2

    def place(recall, speed):
        x = left + (recall - low) / (1 - low) * (width - left - right)
        y = height - bottom - (math.log10(speed) - bottom_power) / (top_power - bottom_power) * (height - top - bottom)
        return f"{x:.1f},{y:.1f}"

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="22" font-size="15">{html.escape(title)}</text>',
    ]
    for n in range(6):
        recall = low + (1 - low) * n / 5
        x, y = place(recall, 10**bottom_power).split(",")
        out.append(f'<line x1="{x}" y1="{top}" x2="{x}" y2="{y}" stroke="#ddd"/>')
        out.append(f'<text x="{x}" y="{float(y) + 16:.0f}" text-anchor="middle">{recall:.3f}</text>')
    power = bottom_power
    while power <= top_power + 1e-9:
        x, y = place(low, 10**power).split(",")
        out.append(f'<line x1="{x}" y1="{y}" x2="{width - right}" y2="{y}" stroke="#ddd"/>')
        out.append(f'<text x="{float(x) - 6:.0f}" y="{float(y) + 4:.0f}" text-anchor="end">{10**power:.0f}</text>')
        power += 0.5
    out.append(f'<text x="{(width + left) / 2:.0f}" y="{height - 10}" text-anchor="middle">recall@100</text>')
    out.append(f'<text x="14" y="{height / 2:.0f}" transform="rotate(-90 14 {height / 2:.0f})" text-anchor="middle">queries a second, one thread</text>')
    for n, (name, f) in enumerate(figures.items()):
        line = sorted((p["recall100"], p["qps"]) for p in f["points"] if p["recall100"] >= low)
        colour = COLOURS.get(name, "#666")
        out.append(f'<polyline points="{" ".join(place(*p) for p in line)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for p in line:
            x, y = place(*p).split(",")
            out.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>')
        out.append(f'<rect x="{left + 12}" y="{height - bottom - 66 + 18 * n}" width="12" height="4" fill="{colour}"/>')
        out.append(f'<text x="{left + 30}" y="{height - bottom - 60 + 18 * n}">{html.escape(f["name"])}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def vectors(path, record, pictures):
    """The section of one set of vectors."""
    figures, name = record["result"], path.stem.removeprefix("ann-")
    (pictures / f"{name}.svg").write_text(curves(figures, record["title"]))
    out = [f"### {record['title']}", "", f"    {record['command']}", ""]
    out += [f"![Recall against speed](benchmarks/{name}.svg)", ""]
    out += ["| index | built in s | bytes a vector, resident | on disk |", "| --- | ---: | ---: | ---: |"]
    for f in figures.values():
        disk = f"{f['disk_bytes_per_vector']:.0f}" if "disk_bytes_per_vector" in f else "–"
        out.append(f"| {f['name']} | {f['build_s']:.1f} | {f['bytes_per_vector']:.0f} | {disk} |")
    mine, peers = figures["conclave"], [f for n, f in figures.items() if n != "conclave"]
    if "peak_resident_bytes" in mine:
        out += ["", f"Peak resident memory of conclave while building: {mine['peak_resident_bytes'] / 1e6:.0f} MB."]
    out += ["", "| queries a second at | conclave | " + " | ".join(f"{f['name']} | ratio" for f in peers) + " |"]
    out += ["| --- | ---: |" + " ---: | ---: |" * len(peers)]
    for i, at in enumerate(mine["at_recall"]):
        row = f"| {at['measure'].replace('recall', 'recall@')} ≥ {at['recall']} | {number(at['qps'])} |"
        for f in peers:
            theirs = f["at_recall"][i]["qps"]
            row += f" {number(theirs)} | {ratio(at['qps'], theirs)} |"
        out.append(row)
    return out + [""]


def number(x):
    return f"{x:.0f}" if x else "not reached"


def ratio(ours, theirs):
    return f"**{ours / theirs:.2f}**" if ours and theirs else "–"


def words(records):
    """The table of word indexes beside Lucene."""
    out = ["| passages | questions/s | Lucene | ratio (lowest to highest turn) | indexing, passages/s | Lucene | ratio | bytes a passage | Lucene | p99 µs | Lucene |"]
    out += ["| --- |" + " ---: |" * 10]
    for _, record in records:
        r = record["result"]
        out.append(
            f"| {record['title']} | {r['qps']:.0f} | {r['lucene_qps']:.0f} | **{r['ratio']:.2f}** ({r['ratio_low']:.2f} to {r['ratio_high']:.2f})"
            f" | {r['passages_per_s']:.0f} | {r['lucene_passages_per_s']:.0f} | **{r['index_ratio']:.2f}** | {r['bytes_per_passage']:.0f}"
            f" | {r['lucene_bytes_per_passage']:.0f} | {r['p99_us']:.0f} | {r['lucene_p99_us']:.0f} |"
        )
    worst = max(record["result"]["worst_score_difference"] for _, record in records)
    swapped = sum(record["result"]["places_with_another_passage"] for _, record in records)
    places = sum(record["result"]["places"] for _, record in records)
    out += ["", f"Scores differ from Lucene's by at most {worst:.1e} (relative); {swapped} of {places} places hold another passage."]
    return out + [""] + [f"    {record['command']}" for _, record in records] + [""]


def growth(records):
    """One line for each size of the generated sets."""

    def at(figures):
        return next(s["qps"] for s in figures["at_recall"] if (s["measure"], s["recall"]) == ("recall100", 0.968))

    out = ["| vectors | built in s | hnswlib | queries/s at recall@100 ≥ 0.968 | hnswlib | ratio | bytes a vector, resident | hnswlib |"]
    out += ["| ---: |" + " ---: |" * 7]
    for _, record in records:
        f = record["result"]
        mine, peer = f["conclave"], f.get("hnswlib")
        ours, theirs = at(mine), at(peer) if peer else None
        other = [f"{peer['build_s']:.1f}", number(theirs), f"{peer['bytes_per_vector']:.0f}"] if peer else ["–"] * 3
        out.append(f"| {record['rows']:,} | {mine['build_s']:.1f} | {other[0]} | {number(ours)} | {other[1]} | {ratio(ours, theirs)} | {mine['bytes_per_vector']:.0f} | {other[2]} |")
    return out + [""]


def main():
    source, docs = Path(sys.argv[1]), Path(sys.argv[2])
    pictures = docs / "benchmarks"
    pictures.mkdir(parents=True, exist_ok=True)
    machine = json.loads((source / "machine.json").read_text())
    found = {p: json.loads(p.read_text()) for p in sorted(source.glob("*.json")) if p.name != "machine.json"}
    ann = [(p, r) for p, r in found.items() if p.name.startswith("ann-")]
    ann.sort(key=lambda pair: (pair[1]["generated"], pair[1]["rows"]))
    lucene = sorted(((p, r) for p, r in found.items() if p.name.startswith("words-")), key=lambda pair: (pair[1]["generated"], pair[1]["result"]["passages"]))
    out = ["# Benchmarks", "", "Written by `make bench`; everything beside its peer, in turns, in the same run.", ""]
    out += [f"- Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory']}, {machine['system']}"]
    out += [f"- Date: {machine['date']}; conclave {machine['commit']}", ""]
    out += ["Machines are noisy: read the ratios, not the figures. Rates are medians of rounds.", ""]
    if ann:
        out += ["## Vectors", "", "One thread, one query at a time, top 100; the graphs built with two threads (M 16 and", "efConstruction 200 for hnswlib, 32 links and 200 for faiss, conclave's defaults).", ""]
        for path, record in ann:
            out += vectors(path, record, pictures)
        sizes = [(p, r) for p, r in ann if r["generated"]]
        if len(sizes) > 1:
            out += ["### As it grows", "", "Generated clustered vectors, as above.", ""] + growth(sizes)
    if lucene:
        out += ["## Words", "", "BM25 beside Lucene 9.12: the same analysis and parameters, one merged segment, one thread,", "warm, top 100. A rate is by the time that the thread ran.", ""] + words(lucene)
    (docs / "benchmarks.md").write_text("\n".join(out).rstrip() + "\n")
    print(f"wrote {docs / 'benchmarks.md'}")


if __name__ == "__main__":
    main()
