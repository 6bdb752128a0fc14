"""Compares the words that conclave reads in PDFs and pages with those that pymupdf and trafilatura read.

    pip install pymupdf==1.26.6 trafilatura==2.3.1
    python research/bench/documents/words.py --files DIR [--conclave bin/conclave] [--most 60]

DIR has PDF and HTML files anywhere below it. Of each kind the first `most` files, in the order of a
hash of their names, that both programs find at least fifty words in. For each: the share of the peer's
words (with how often they occur) that conclave has, and of conclave's that the peer has.
"""
import argparse, collections, hashlib, json, os, pathlib, re, statistics, subprocess

WORD = re.compile(r"\w+")


def words(text):
    return collections.Counter(WORD.findall(text.lower()))


def of_conclave(conclave, path):
    done = subprocess.run([conclave, "read", "--json", str(path)], capture_output=True, text=True)
    decoder, text, at, out = json.JSONDecoder(), done.stdout.strip(), 0, []
    while at < len(text):
        p, at = decoder.raw_decode(text, at)
        while at < len(text) and text[at].isspace():
            at += 1
        out.append(p)
    seen, parts = set(), []
    for p in out:
        # The headings are in the titles: each counts once, as on the page.
        for heading in p.get("title", "").split(" › "):
            if heading not in seen:
                seen.add(heading)
                parts.append(heading)
        parts.append(p["text"])
    return "\n".join(parts)


def of_pymupdf(path):
    import pymupdf
    try:
        with pymupdf.open(path) as d:
            return "" if d.needs_pass else "\n".join(page.get_text() for page in d)
    except Exception:
        return ""


def of_trafilatura(path):
    import trafilatura
    try:
        return trafilatura.extract(path.read_bytes(), include_comments=False, include_tables=True) or ""
    except Exception:
        return ""


args = argparse.ArgumentParser()
args.add_argument("--files", type=pathlib.Path, required=True)
args.add_argument("--conclave", default="bin/conclave")
args.add_argument("--most", type=int, default=60)
a = args.parse_args()
for ending, peer in ((".pdf", of_pymupdf), (".html", of_trafilatura)):
    files = sorted((pathlib.Path(folder) / f for folder, _, names in os.walk(a.files, followlinks=True) for f in names if f.endswith(ending)), key=lambda p: hashlib.sha256(p.name.encode()).hexdigest())
    has, of, worst = [], [], []
    for path in files:
        if len(has) == a.most:
            break
        theirs = words(peer(path))
        if sum(theirs.values()) < 50:
            continue
        ours = words(of_conclave(a.conclave, path))
        if sum(ours.values()) < 50:
            worst.append((0.0, 0.0, path.name))
            has.append(0.0)
            continue
        both = sum((ours & theirs).values())
        has.append(both / sum(theirs.values()))
        of.append(both / sum(ours.values()))
        worst.append((has[-1], of[-1], path.name))
    print(f"{ending}: {len(has)} files; of the peer's words {100 * statistics.mean(has):.1f} % (median {100 * statistics.median(has):.1f}), "
          f"of conclave's {100 * statistics.mean(of):.1f} % (median {100 * statistics.median(of):.1f})")
    for h, o, name in sorted(worst)[:8]:
        print(f"    {100 * h:.0f} {100 * o:.0f} {name}")
