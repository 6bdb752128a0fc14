"""Counts the passages of PDFs that have fewer than eight words between white space.

    python research/bench/documents/short.py --files DIR [--files DIR …] [--conclave bin/conclave] [--show]

The script prints for each folder how many PDF files with text are below it, how many passages they have, how many of these are
short, and how many of the short ones are all that their file has. --show prints each other short passage with its title.
"""
import argparse, json, pathlib, subprocess

args = argparse.ArgumentParser()
args.add_argument("--files", type=pathlib.Path, required=True, action="append")
args.add_argument("--conclave", default="bin/conclave")
args.add_argument("--show", action="store_true")
a = args.parse_args()
for folder in a.files:
    files = passages = short = whole = 0
    for path in sorted(folder.rglob("*.pdf")):
        done = subprocess.run([a.conclave, "read", "--json", str(path)], capture_output=True, text=True)
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        files += bool(found)
        passages += len(found)
        for p in found:
            if len(p["text"].split()) < 8:
                short += 1
                whole += len(found) == 1
                if a.show and len(found) > 1:
                    print(f"  {p['id']}, page {p['metadata'].get('page')}, {p.get('title', '')}: {p['text']!r}")
    print(f"{folder}: {files} files, {passages} passages, {short} short ({100 * short / max(1, passages):.1f} %), {whole} of them a whole file")
