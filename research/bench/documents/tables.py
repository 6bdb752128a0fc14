"""Measures how many rows of tables in PDFs conclave reads whole and in order.

    pip install reportlab==4.4.4 pymupdf==1.26.6
    python research/bench/documents/tables.py --made DIR                # makes PDFs in DIR, and reads them
    python research/bench/documents/tables.py --files DIR --truth FILE  # real PDFs, by the tables that pymupdf finds
    python research/bench/documents/tables.py --icdar DIR               # real PDFs, by what people wrote of their tables

A row counts as whole where one line of what conclave reads has the texts of its cells in their order and nothing of
another row, and as cells where " | " parts them like the row. Of made PDFs the cells are known. For real ones
they are those of page.find_tables() in pymupdf, which are kept in FILE; tables of one column or one row are left out. pymupdf splits
and joins cells itself, so a row that differs may be right. DIR of --icdar has the data set of the ICDAR 2013 table
competition (NAME.pdf and NAME-str.xml; the repository tabulapdf/tabula-java has it among its test resources): there people wrote
down each cell. A cell of several rows belongs to the first; a row also counts as whole without it, with it in each row, and
if conclave joined two rows of names to one ("2024 › Revenue").
Prose in two columns is made too: of its lines none may be part of a table.
"""
import argparse, collections, hashlib, json, os, pathlib, random, re, subprocess, sys


def plain(text):
    return "".join(re.findall(r"\w", text)).lower()


def read(conclave, path):
    done = subprocess.run([conclave, "read", "--json", str(path)], capture_output=True, text=True)
    lines = []
    for line in done.stdout.splitlines():
        lines += json.loads(line)["text"].split("\n")
    return lines


def judge(lines, rows):
    whole = cells = 0
    texts = collections.Counter(plain(line) for line in lines)
    parted = {tuple(plain(c) for c in line.split(" | ") if plain(c)) for line in lines}
    for row in rows:
        want = [plain(c) for c in row if plain(c)]
        if texts["".join(want)]:
            whole += 1
            cells += tuple(want) in parted
    return whole, cells


def made(folder):
    from reportlab.lib import colors
    from reportlab.lib.pagesizes import A4, landscape
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.pdfgen import canvas
    from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

    rng = random.Random(51)
    styles = getSampleStyleSheet()
    words = "valve pump tank flow garden river copper silver oak paper glass brick water lamp stone".split()
    name = lambda n: " ".join(rng.choice(words).title() for _ in range(n))
    date = lambda: "%02d/%02d/20%02d" % (rng.randint(1, 12), rng.randint(1, 28), rng.randint(10, 24))
    code = lambda: "%s-%03d" % (rng.choice("ABCD"), rng.randint(100, 999))
    money = lambda: "%d,%03d.%02d" % (rng.randint(1, 99), rng.randint(0, 999), rng.randint(0, 99))
    number = lambda: str(rng.randint(1, 99999))
    sentence = lambda n: name(1) + " " + " ".join(rng.choice(words) for _ in range(n)) + "."
    kinds = {
        "equal": ([code, date, lambda: "%05.2f" % rng.uniform(10, 99)], ["Part", "Date", "Price"]),
        "dates": ([date, date, date, lambda: name(2), lambda: name(1), number], ["Notice", "Effective", "Received", "Company", "City", "Staff"]),
        "text": ([lambda: name(2), lambda: name(1), lambda: name(1)], ["Name", "City", "Team"]),
        "amounts": ([lambda: name(3), money, money, money], ["Account", "2022", "2023", "2024"]),
        "codes": ([code, code], ["From", "To"]),
        "wide": ([number, lambda: name(1), number, date, money, code, lambda: name(2), number], ["No", "Kind", "Units", "Day", "Sum", "Code", "Holder", "Score"]),
        "gaps": ([lambda: name(2), lambda: rng.choice(["", number()]), lambda: rng.choice(["", "", code()]), money], ["Item", "Count", "Code", "Sum"]),
        "notes": ([code, lambda: sentence(rng.randint(4, 16)), money], ["Key", "What it is", "Cost"]),
    }
    grids = {
        "none": [],
        "grid": [("GRID", (0, 0), (-1, -1), 0.5, colors.black)],
        "lines": [("LINEBELOW", (0, 0), (-1, -1), 0.4, colors.grey)],
        "booktabs": [("LINEABOVE", (0, 0), (-1, 0), 1, colors.black), ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.black), ("LINEBELOW", (0, -1), (-1, -1), 1, colors.black)],
        "bands": [("ROWBACKGROUNDS", (0, 1), (-1, -1), [colors.whitesmoke, colors.lightgrey])],
    }
    truth = {}
    for kind, (makers, head) in kinds.items():
        for grid, style in grids.items():
            rows = [head] + [[make() for make in makers] for _ in range(rng.choice([7, 25, 60]))]
            rows = [r for r in rows if any(r)]
            shown = [[Paragraph(c, styles["BodyText"]) if kind == "notes" and r else c for c in row] for r, row in enumerate(rows)]
            widths = [40, 170, 60] if kind == "notes" else None
            size = [("FONTSIZE", (0, 0), (-1, -1), rng.choice([7, 9, 10])), ("VALIGN", (0, 0), (-1, -1), "TOP")]
            if rng.random() < 0.5:
                size.append(("ALIGN", (-2, 0), (-1, -1), "RIGHT"))
            if rng.random() < 0.4:
                size += [("TOPPADDING", (0, 0), (-1, -1), 0.5), ("BOTTOMPADDING", (0, 0), (-1, -1), 0.5)]
            path = folder / f"{kind}-{grid}.pdf"
            page = landscape(A4) if kind == "wide" else A4
            SimpleDocTemplate(str(path), pagesize=page).build([
                Paragraph("A list of " + kind, styles["Title"]), Paragraph(sentence(40), styles["BodyText"]),
                Table(shown, colWidths=widths, style=TableStyle(style + size), repeatRows=1 if rng.random() < 0.5 else 0),
                Spacer(1, 12), Paragraph(sentence(60), styles["BodyText"])])
            truth[path.name] = rows
    # Drawn column by column.
    path = folder / "columnwise.pdf"
    c = canvas.Canvas(str(path), pagesize=A4)
    rows = [["Part", "Day", "Sum"]] + [[code(), date(), money()] for _ in range(20)]
    for column, x in enumerate((72, 200, 330)):
        for i, row in enumerate(rows):
            c.drawString(x, 700 - 16 * i, row[column])
    c.save()
    truth[path.name] = rows
    # A header of two lines, and one over several columns.
    path = folder / "twolines.pdf"
    c = canvas.Canvas(str(path), pagesize=A4)
    c.setFont("Helvetica", 9)
    for x, upper, lower in ((72, "Name of", "the plant"), (200, "Output", "in tons"), (300, "Price", "per ton"), (400, "First", "year")):
        c.drawString(x, 720, upper)
        c.drawString(x, 709, lower)
    rows = [[name(2), number(), money(), str(rng.randint(1950, 2020))] for _ in range(30)]
    for i, row in enumerate(rows):
        for x, cell in zip((72, 200, 300, 400), row):
            c.drawString(x, 690 - 13 * i, cell)
    c.save()
    truth[path.name] = rows
    # Prose in two columns: no row.
    for n, gap in enumerate((12, 30, 60)):
        path = folder / f"prose-{n}.pdf"
        c = canvas.Canvas(str(path), pagesize=A4)
        width = (450 - gap) / 2
        from reportlab.platypus import Frame
        text = [Paragraph(" ".join(sentence(rng.randint(5, 15)) for _ in range(12)), styles["BodyText"]) for _ in range(7)]
        for x in (72, 72 + width + gap):
            Frame(x, 80, width, 700, leftPadding=0, rightPadding=0).addFromList(text, c)
        c.save()
        truth[path.name] = []
    return truth


def found(folder, keep):
    import pymupdf
    if keep.exists():
        return json.loads(keep.read_text())
    truth, seen = {}, set()
    for path in sorted(folder.rglob("*.pdf")):
        data = path.read_bytes()
        if len(data) > 3_000_000 or hashlib.sha256(data).digest() in seen:
            continue
        seen.add(hashlib.sha256(data).digest())
        try:
            rows = []
            with pymupdf.open(path) as d:
                for page in list(d)[:15]:
                    for table in page.find_tables().tables:
                        some = [[" ".join((c or "").split()) for c in row] for row in table.extract()]
                        some = [row for row in some if sum(bool(c) for c in row) >= 2]
                        rows += some if len(some) >= 2 else []
            if rows:
                truth[str(path)] = rows
        except Exception:
            continue
    keep.write_text(json.dumps(truth))
    return truth


def icdar(folder):
    """Returns for each PDF its rows, each a list of the forms that count as right."""
    from xml.etree import ElementTree

    truth = {}
    for path in sorted(folder.rglob("*-str.xml")):
        pdf = path.with_name(path.name.removesuffix("-str.xml") + ".pdf")
        if not pdf.exists():
            continue
        truth[str(pdf)] = rows = []
        for table in ElementTree.parse(path).getroot().iter("table"):
            for region in table.iter("region"):
                cells = []
                for cell in region.iter("cell"):
                    at = lambda key, default=0: int(cell.get(key, default))
                    row, column = at("start-row"), at("start-col")
                    text = " ".join("".join(cell.find("content").itertext()).split())
                    cells.append((row, at("end-row", row), column, text))
                for r in sorted({c[0] for c in cells}):
                    starting = [c[3] for c in sorted(cells, key=lambda c: c[2]) if c[0] == r]
                    alone = [c[3] for c in sorted(cells, key=lambda c: c[2]) if c[0] == r == c[1]]
                    every = [c[3] for c in sorted(cells, key=lambda c: c[2]) if c[0] <= r <= c[1]]
                    forms = [[t for t in form if plain(t)] for form in (starting, alone, every)]
                    if len(forms[0]) >= 2:
                        rows.append([form for form in forms if form])
    return truth


def named(line, want):
    """Reports whether a line with names of several rows has the wanted cells as one of these, in order."""
    parts = [[plain(p) for p in cell.split(" › ")] for cell in line.split(" | ")]
    at = -1
    for cell in want:
        at = next((i for i in range(at + 1, len(parts)) if cell in parts[i] or cell == "".join(parts[i])), None)
        if at is None:
            return False
    return True


def judge_forms(lines, rows):
    whole = cells = 0
    missed = []
    texts = collections.Counter(plain(line) for line in lines)
    parted = {tuple(plain(c) for c in line.split(" | ") if plain(c)) for line in lines}
    joined = [line for line in lines if " › " in line]
    for forms in rows:
        wanted = [[plain(c) for c in form] for form in forms]
        if any(tuple(want) in parted for want in wanted) or any(named(line, wanted[0]) for line in joined):
            whole, cells = whole + 1, cells + 1
        elif any(texts["".join(want)] for want in wanted):
            whole += 1
        else:
            missed.append(forms[0])
    return whole, cells, missed


args = argparse.ArgumentParser()
args.add_argument("--made", type=pathlib.Path)
args.add_argument("--files", type=pathlib.Path)
args.add_argument("--truth", type=pathlib.Path)
args.add_argument("--icdar", type=pathlib.Path)
args.add_argument("--conclave", default="bin/conclave")
args.add_argument("--missed", type=int, default=0, help="how many rows that are not whole are shown of each file")
a = args.parse_args()
if a.icdar:
    whole = cells = every = 0
    for path, rows in icdar(a.icdar).items():
        w, c, missed = judge_forms(read(a.conclave, path), rows)
        whole, cells, every = whole + w, cells + c, every + len(rows)
        print(f"{w:5} {c:5} of {len(rows):4}  {os.path.basename(path)}")
        for row in missed[: a.missed]:
            print("       ", " | ".join(row)[:200])
    print(f"{every} rows: {whole / every:.1%} whole and in order, {cells / every:.1%} as cells")
    sys.exit()
if a.made:
    a.made.mkdir(parents=True, exist_ok=True)
    truth = {str(a.made / name): rows for name, rows in made(a.made).items()}
else:
    truth = found(a.files, a.truth)
whole = cells = every = 0
for path, rows in truth.items():
    lines = read(a.conclave, path)
    if not rows:
        print(f"{sum(' | ' in line for line in lines):5} lines of prose as rows   {os.path.basename(path)}")
        continue
    w, c = judge(lines, rows)
    whole, cells, every = whole + w, cells + c, every + len(rows)
    print(f"{w:5} {c:5} of {len(rows):4}  {os.path.basename(path)}")
print(f"{every} rows: {whole / every:.1%} whole and in order, {cells / every:.1%} as cells")
