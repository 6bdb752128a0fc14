"""Measures which sentences of web pages conclave keeps, by what people marked in go-trafilatura's comparison.

    python research/bench/documents/pages.py --pages DIR --conclave bin/conclave

DIR is the folder of github.com/markusmobius/go-trafilatura. scripts/comparison/data.go names sentences that a page's text has
("With") and others that stand beside it ("Without"). Printed are the shares of both that are kept.
"""
import argparse, collections, json, os, pathlib, re, subprocess

args = argparse.ArgumentParser()
args.add_argument("--pages", type=pathlib.Path, required=True)
args.add_argument("--conclave", default="bin/conclave")
a = args.parse_args()
plain = lambda text: re.sub(r"\W+", "", text).lower()


def sentences(entry, name):
    found = re.search(name + r":\s*\[\]string\{(.*?)\}(?:,\n|,$)", entry, re.S)
    return [json.loads('"' + s + '"') for s in re.findall(r'"((?:[^"\\]|\\.)*)"', found.group(1))] if found else []


texts = collections.defaultdict(list)
done = subprocess.run([a.conclave, "read", "--json", str(a.pages / "test-files")], capture_output=True, text=True)
for line in done.stdout.splitlines():
    passage = json.loads(line)
    texts[os.path.basename(passage["id"].rsplit("#", 1)[0])] += [passage.get("title", ""), passage["text"]]
there = {path.name for path in (a.pages / "test-files").rglob("*.html")}
counts = {"With": [0, 0], "Without": [0, 0]}
pages = 0
for file, entry in re.findall(r'File:\s*"([^"]+)",(.*?)\n\t\},', (a.pages / "scripts/comparison/data.go").read_text(), re.S):
    name = os.path.basename(file)
    if name not in there:
        continue
    pages += 1
    text = plain(" ".join(texts.get(name, [])))
    for kind, count in counts.items():
        for sentence in sentences(entry, kind):
            count[0] += plain(sentence) in text
            count[1] += 1
print(f"{pages} pages")
for kind, (kept, every) in counts.items():
    print(f"{kind}: {kept} of {every} kept, {kept / every:.1%}")
