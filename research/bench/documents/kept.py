"""Measures how much of other programs' text of real files conclave reads, by format.

    apt-get install poppler-utils pandoc && pip install python-pptx openpyxl trafilatura
    python research/bench/documents/kept.py --files DIR --conclave bin/conclave [--most 40] [--worst 3]

References: pdftotext for PDF; pandoc for DOCX, ODT, EPUB, reStructuredText, Org, LaTeX, notebooks and RTF; trafilatura for HTML; python-pptx for
PPTX; openpyxl, as it shows values, for XLSX. `conclave read --json --reference` compares. Files without a reference of
twenty words are left out; the first of each format, in the order of their SHA-256, are taken.
"""
import argparse, collections, hashlib, json, pathlib, statistics, subprocess, tempfile

args = argparse.ArgumentParser()
args.add_argument("--files", type=pathlib.Path, required=True)
args.add_argument("--conclave", default="bin/conclave")
args.add_argument("--most", type=int, default=40)
args.add_argument("--worst", type=int, default=0)
a = args.parse_args()


def run(*command):
    return subprocess.run(command, capture_output=True, timeout=120).stdout.decode("utf-8", "replace")


def pptx(path):
    import pptx as reader

    out = []

    def shapes(every):
        for shape in every:
            if shape.shape_type == 6:
                shapes(shape.shapes)
            if shape.has_text_frame:
                out.append(shape.text_frame.text)
            if getattr(shape, "has_table", False) and shape.has_table:
                out.extend(cell.text for row in shape.table.rows for cell in row.cells)

    for slide in reader.Presentation(path).slides:
        shapes(slide.shapes)
    return "\n".join(out)


def xlsx(path):
    import openpyxl

    book = openpyxl.load_workbook(path, data_only=True, read_only=True)
    cells = (c for s in book.worksheets for row in s.iter_rows(values_only=True) for c in row)
    return "\n".join(c for c in cells if isinstance(c, str))


def html(path):
    import trafilatura

    return trafilatura.extract(path.read_bytes(), include_tables=True, include_comments=False) or ""


pandoc = lambda path, form: run("pandoc", "-f", form, "-t", "plain", "--wrap=none", str(path))
readers = {
    ".pdf": lambda p: run("pdftotext", "-layout", str(p), "-"), ".docx": lambda p: pandoc(p, "docx"),
    ".odt": lambda p: pandoc(p, "odt"), ".epub": lambda p: pandoc(p, "epub"), ".rst": lambda p: pandoc(p, "rst"),
    ".org": lambda p: pandoc(p, "org"), ".tex": lambda p: pandoc(p, "latex"), ".ipynb": lambda p: pandoc(p, "ipynb"),
    ".rtf": lambda p: pandoc(p, "rtf"), ".html": html, ".htm": html, ".pptx": pptx, ".xlsx": xlsx,
}
found = collections.defaultdict(dict)
for path in a.files.rglob("*"):
    if path.suffix.lower() in readers and path.is_file():
        found[path.suffix.lower()].setdefault(hashlib.sha256(path.read_bytes()).hexdigest(), path)
print("| format | files | words | kept | median | neighbours kept | not in the reference | not read |")
print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
for ending, files in sorted(found.items()):
    each, failed = [], 0
    for _, path in sorted(files.items()):
        if len(each) + failed == a.most:
            break
        try:
            text = readers[ending](path)
        except Exception:  # the other program cannot read it
            continue
        if len(text.split()) < 20:
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as reference:
            reference.write(text)
            reference.flush()
            done = subprocess.run([a.conclave, "read", "--json", "--reference", reference.name, str(path)], capture_output=True)
        result = json.loads(done.stdout) if done.stdout.strip() else {"words": 0}
        if result["words"] == 0:
            failed += 1
            continue
        each.append((result, path))
    if not each:
        continue
    words = sum(r["reference_words"] for r, _ in each)
    mean = lambda key: sum(r[key] * r["reference_words"] for r, _ in each) / words
    extra = sum(r["extra"] * r["words"] for r, _ in each) / sum(r["words"] for r, _ in each)
    print(f"| {ending[1:]} | {len(each)} | {words:,} | {mean('kept'):.1%} | {statistics.median(r['kept'] for r, _ in each):.1%} "
          f"| {mean('in_order'):.1%} | {extra:.1%} | {failed} |", flush=True)
    for result, path in sorted(each, key=lambda x: x[0]["kept"])[: a.worst]:
        print(f"    {result['kept']:.1%} of {result['reference_words']} {path}: {' '.join(result.get('missing', []))}")
