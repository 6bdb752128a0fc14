"""Writes the demo's passages once more as the documents that people have: a folder of Markdown,
a web page, two books in PDF and contracts in DOCX.

    pip install -r ../../documents/testdata/requirements.txt && python make.py

The same passages make the same bytes. Afterwards the questions have to know their new places:

    go test ./shipped/demo -run TestDocuments -update
"""
import html
import io
import json
import pathlib
import re
import unicodedata
import zipfile
from datetime import datetime, timezone

import docx
from fpdf import FPDF

HERE = pathlib.Path(__file__).parent
OUT = HERE / "documents"
WHEN = datetime(2026, 11, 26, tzinfo=timezone.utc)

# The sections of a contract, in the order of its passages.
SECTIONS = {
    "Marrowby Mail": ["What we live on", "Opening a mailbox", "The bin", "Server logs", "Demands from authorities",
                      "Leaving"],
    "Tindlepost Parcels": ["Addresses and telephone numbers", "Pictures of doorways", "Live tracking", "Customs",
                           "Neighbours", "Lost parcels"],
    "Fennwick Screen": ["Viewing history", "Profiles and children", "Advertising", "Downloads", "Two homes",
                        "Cancelling"],
    "Lumenook Home": ["When the doorbell records", "How long clips stay", "Police", "Speech", "Your neighbours",
                      "Selling a device"],
    "Pallaster Savings": ["Who you are", "Groups of payments", "Credit", "Lost cards", "Other apps",
                          "Sleeping accounts"],
    "Heartlantern": ["Profiles and distances", "Optional answers", "Messages", "The lantern badge",
                     "Pausing and deleting", "Paid membership"],
    "Stridewell": ["What the band measures", "Employers and insurers", "Routes", "Research", "No medical device",
                   "Deleting an account"],
    "Broombridge Libraries": ["What you borrow", "My Shelf", "Computers in the reading rooms", "Children's cards",
                              "No late fees", "E-books"],
    "Kestrelpond Rail": ["Tickets", "Cameras", "Delays", "Wi-fi on board", "Lost property", "Without a ticket"],
    "Oddling Games": ["No accounts", "No advertising", "Greetings", "Crash reports", "The parents' page",
                      "Returning a game"],
    "Verrabloom Clinic": ["Seeing a doctor by video", "Medical records", "Summaries and prescriptions", "Urgency",
                          "Cancelling an appointment", "Young people"],
}


def passages(domain):
    """Returns the passages of a domain, those of one title together: [(title, [text, …]), …]."""
    lines = (HERE / "passages" / f"{domain}.jsonl").read_text(encoding="utf-8").splitlines()
    of = {}
    for passage in map(json.loads, lines):
        of.setdefault(passage.get("title", ""), []).append(passage["text"])
    return list(of.items())


def name_of(title):
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def encyclopedia():
    """A file of Markdown for each article."""
    folder = OUT / "encyclopedia"
    folder.mkdir(parents=True, exist_ok=True)
    for title, texts in passages("encyclopedia"):
        body = "\n\n".join(re.sub(r"([*_`\[\]<>\\])", r"\\\1", text) for text in texts)
        (folder / f"{name_of(title)}.md").write_text(f"# {title}\n\n{body}\n", encoding="utf-8")


def reviews():
    """One web page, with the navigation and the foot that such pages have."""
    links, sections = [], []
    for title, texts in passages("reviews"):
        heading = html.escape(title or "Other things we bought")
        links.append(f'<li><a href="#{name_of(title or "other")}">{heading}</a></li>')
        body = "\n".join(f"<p>{html.escape(text, quote=False)}</p>" for text in texts)
        sections.append(f'<section id="{name_of(title or "other")}">\n<h2>{heading}</h2>\n{body}\n</section>')
    (OUT / "reviews.html").write_text(f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>What buyers say</title></head>
<body>
<header><nav><ul><li><a href="/">Home</a></li><li><a href="/basket">Basket</a></li></ul></nav></header>
<aside><ul>
{chr(10).join(links)}
</ul></aside>
<main>
<h1>What buyers say</h1>
{chr(10).join(sections)}
</main>
<footer><p>All prices include tax. <a href="/imprint">Imprint</a></p></footer>
</body>
</html>
""", encoding="utf-8")


class Book(FPDF):
    """A book with its title at the head of each page and the number at its foot."""

    def __init__(self, title):
        super().__init__(format="A5")
        self.set_creation_date(WHEN)
        self.set_title(title)
        self.title_of_book = title
        self.set_auto_page_break(True, margin=18)
        self.set_margins(16, 16)

    def header(self):
        if self.page_no() > 1:
            self.set_font("times", "I", 8)
            self.cell(0, 8, self.title_of_book, new_x="LMARGIN", new_y="NEXT", align="C")

    def footer(self):
        self.set_y(-14)
        self.set_font("times", size=8)
        self.cell(0, 8, str(self.page_no()), align="C")

    def chapter(self, heading, texts, style="B", size=14):
        """Writes a heading, which stays with the first lines below it, and its paragraphs."""
        if self.get_y() > self.h - 50:
            self.add_page()
        self.start_section(latin(heading))
        self.set_font("times", style, size)
        self.multi_cell(0, 7, latin(heading), new_x="LMARGIN", new_y="NEXT")
        self.ln(2)
        self.set_font("times", size=10)
        for text in texts:
            self.multi_cell(0, 5, latin(text), new_x="LMARGIN", new_y="NEXT", align="J")
            self.ln(3)
        self.ln(3)

    def cover(self, below):
        self.add_page()
        self.set_y(60)
        self.set_font("times", "B", 24)
        self.multi_cell(0, 12, self.title_of_book, new_x="LMARGIN", new_y="NEXT", align="C")
        self.ln(6)
        self.set_font("times", size=11)
        self.multi_cell(0, 6, below, new_x="LMARGIN", new_y="NEXT", align="C")


def latin(text):
    """Returns a text in the characters of a PDF's standard fonts."""
    for character, plain in {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."}.items():
        text = text.replace(character, plain)
    text.encode("latin-1")  # says so where a character has no place in them
    return text


def health():
    """A handbook in PDF: chapters one after the other."""
    book = Book("Health at home")
    book.cover("General advice. It takes no doctor's place.")
    book.add_page()
    for title, texts in passages("health"):
        book.chapter(title, texts)
    book.output(OUT / "health.pdf")


def tales():
    """A book of stories in PDF; each begins on a page of its own."""
    book = Book("Thirteen tales")
    book.cover("Invented for reading aloud")
    for title, texts in passages("tales"):
        book.add_page()
        book.chapter(title, texts, size=18)
    book.output(OUT / "tales.pdf")


def policy():
    """A contract in DOCX for each company."""
    folder = OUT / "policy"
    folder.mkdir(parents=True, exist_ok=True)
    for title, texts in passages("policy"):
        document = docx.Document()
        document.core_properties.title = title
        document.core_properties.created = document.core_properties.modified = WHEN.replace(tzinfo=None)
        document.add_heading(title, 0)
        for heading, text in zip(SECTIONS[title], texts, strict=True):
            document.add_heading(heading, 1)
            document.add_paragraph(text)
        made = io.BytesIO()
        document.save(made)
        write_zip(folder / f"{name_of(title)}.docx", made)


def write_zip(path, made):
    """Writes a ZIP file once more, without the time of day."""
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            info = zipfile.ZipInfo(entry.filename, WHEN.timetuple()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(info, old.read(entry))


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for write in (encyclopedia, reviews, health, tales, policy):
        write()
    files = [f for f in OUT.rglob("*") if f.is_file()]
    print(f"{len(files)} documents, {sum(f.stat().st_size for f in files)} bytes")
