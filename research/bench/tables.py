"""Prints the tables of docs/evidence/experts.md from what research/bench/evaluate found.

    python3 research/bench/tables.py evaluation-out > tables.md

Reads calibration.json (conclave calibrate), report.json and desire-me.json (conclave
evaluate) and ablation.json (conclave-lab ablate). In report.json the gate, the hybrid and their
confidences were fitted on the questions measured; in the others they were not.
Figures are top-1 / top-20 in percent.
"""

import json
import sys
from pathlib import Path


def pair(values, scale=100):
    return f"{scale * values['top1']:.1f} / {scale * values['top20']:.1f}"


def difference(a, b):
    return f"{100 * (a['top1'] - b['top1']):+.1f} / {100 * (a['top20'] - b['top20']):+.1f}"


def p_value(p):
    return "–" if p is None else f"{p['top1']:.4f} / {p['top20']:.4f}"


def evaluation(report):
    tables = report["tables"]
    names = {"mix": "all questions", "macro": "mean over domains"}
    for note in report.get("notes", []):
        print(f"({note}.)\n")
    print("| method | " + " | ".join(f"{names.get(t['scope'], t['name'])} ({t['questions']})" for t in tables) + " | ms: p50 | p95 | p99 |")
    print("| --- |" + " ---: |" * (len(tables) + 3))
    by_method = [{row["method"]: row["values"] for row in t["rows"]} for t in tables]  # an oracle may be of the domains alone
    for row in tables[0]["rows"]:
        cells = [pair(rows[row["method"]]) if row["method"] in rows else "–" for rows in by_method]
        latency = row.get("latency")
        print(f"| {row['method']} | " + " | ".join(cells) + (f" | {latency['p50']:.1f} | {latency['p95']:.1f} | {latency['p99']:.1f} |" if latency else " | – | – | – |"))
    print()


def rows(title, all_rows, first):
    domains = list(first["domains"])
    print(f"| {title} | all questions | mean over domains | difference | p | " + " | ".join(domains) + " |")
    print("| --- |" + " ---: |" * (4 + len(domains)))
    for row in all_rows:
        name = row["name"] + (f" ({row['weight']:.3g})" if "weight" in row else "")
        gap = "–" if row is first else difference(row["all"], first["all"])
        print(
            f"| {name} | {pair(row['all'])} | {pair(row['macro'])} | {gap} | {p_value(row.get('p'))} | "
            + " | ".join(pair(row["domains"][d]) for d in domains)
            + " |"
        )
    print()


def pairs(title, lines):
    print(f"| {title} | before | after | difference | p |\n| --- | ---: | ---: | ---: | ---: |")
    for name, (before, after) in lines:
        print(f"| {name} | {pair(before['all'])} | {pair(after['all'])} | {difference(after['all'], before['all'])} | {p_value(after.get('p'))} |")
    print()


def area(x):
    return "–" if x is None else f"{x:.3f}"


def calibration(found):
    print("| any of the first | ECE | AUROC | accuracy | of the surest half |\n| ---: | ---: | ---: | ---: | ---: |")
    for c in found["chances"]:
        print(f"| {c['k']} | {c['ece']:.3f} | {area(c['auroc'])} | {100 * c['accuracy']:.1f} | {100 * c['accuracy_of_surest_half']:.1f} |")
    print()
    print("| min_confidence | right first passages lost | no result, answer taken out | no result, unanswerable |\n| ---: | ---: | ---: | ---: |")
    for t in found["thresholds"]:
        silent = t["unanswerable_silent"]
        print(f"| {t['min_confidence']:.2f} | {100 * t['right_lost']:.1f} | {100 * t['taken_out_silent']:.1f} | {'–' if silent is None else f'{100 * silent:.1f}'} |")
    print()
    print("| source | ECE | AUROC |")
    print("| --- | ---: | ---: |")
    for s in found["sources"]:
        print(f"| {s['name']} | {s['ece']:.3f} | {area(s['auroc'])} |")
    print()


def ablation(found):
    first = found["yardsticks"][0]
    rows(f"{found['questions']} questions", found["yardsticks"], first)
    rows("without one source", [first, *found["without"]], first)
    if found.get("familiar"):
        rows("specialists by question", [first, *found["familiar"]], first)
    if foreign := found.get("foreign"):
        lines = [("gate", foreign["gate"]), ("mean and words, best weight", foreign["fixed"]), ("mean of experts", foreign["mean"])]
        pairs(f"{foreign['questions']} questions, foreign: {', '.join(foreign['experts'])}", lines)
    if few := found.get("few"):
        print("| fitted on | before | after | difference | ECE | AUROC |\n| ---: | ---: | ---: | ---: | ---: | ---: |")
        for f in few:
            sure = [f"{f['shipped'][of]:.3f} to {f['fitted'][of]:.3f}" if "fitted" in f else "–" for of in ("ece", "auroc")]
            print(f"| {f['questions']} | {pair(f['before'])} | {pair(f['after'])} | {difference(f['after'], f['before'])} | {sure[0]} | {sure[1]} |")
        print()
    if held := found.get("held_out"):
        lines = []
        for h in held:
            lines += [(f"{h['expert']}, own questions", h["own"]), (f"{h['expert']}, all others", h["others"])]
        pairs("an expert that is added", lines)


def main():
    folder = Path(sys.argv[1])
    for name, show in (("calibration.json", calibration), ("report.json", evaluation), ("desire-me.json", evaluation), ("ablation.json", ablation)):
        if (folder / name).exists():
            show(json.loads((folder / name).read_text()))


if __name__ == "__main__":
    main()
