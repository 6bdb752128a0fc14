"""Makes the files that the tests of documents read, with the libraries that people make such files with.

    pip install -r requirements.txt && python make.py

What each file holds is stated once more in the tests (made_test.go).
"""
import io, mailbox, pathlib, struct, zipfile
from datetime import datetime
from email.message import EmailMessage

import compressed_rtf
import docx
import extract_msg
import openpyxl
import pymupdf
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from fpdf import FPDF
from odf import table as odftable, text as odftext
from odf.opendocument import OpenDocumentSpreadsheet, OpenDocumentText, OpenDocumentPresentation
from odf import draw, presentation, style
from pptx import Presentation
from pptx.util import Inches

here = pathlib.Path(__file__).parent
WHEN = datetime(2024, 1, 2)

RETURNS = ("Goods that arrive damaged can be returned within thirty days. Send a photograph of the damage to the "
           "service desk before you post the parcel, and keep the packaging until the carrier has collected it.")
REFUND = ("The refund is paid to the card that was charged. It takes up to five working days after the parcel has "
          "reached the warehouse in Leeds.")


class Handbook(FPDF):
    def header(self):
        self.set_font("helvetica", size=8)
        self.cell(0, 8, "Northwind Handbook, edition 7", new_x="LMARGIN", new_y="NEXT", align="R")

    def footer(self):
        self.set_y(-15)
        self.set_font("helvetica", size=8)
        self.cell(0, 8, f"Page {self.page_no()} of {{nb}}", align="C")


def pdf_handbook():
    p = Handbook()
    p.set_creation_date(WHEN)
    p.add_page()
    p.set_font("helvetica", "B", 24)
    p.multi_cell(0, 12, "Service handbook", new_x="LMARGIN", new_y="NEXT")
    p.set_font("helvetica", size=11)
    p.ln(4)
    p.multi_cell(0, 6, "This book says how orders, returns and repairs are handled. It is for people who answer the telephone.", new_x="LMARGIN", new_y="NEXT")
    p.ln(4)
    p.set_font("helvetica", "B", 16)
    p.cell(0, 10, "Contents", new_x="LMARGIN", new_y="NEXT")
    p.set_font("helvetica", size=11)
    for name, page in (("Returns", 2), ("Damaged goods", 2), ("Refunds", 3), ("Repairs", 3)):
        p.cell(0, 6, f"{name} {'.' * (60 - len(name))} {page}", new_x="LMARGIN", new_y="NEXT")
    p.add_page()
    p.set_font("helvetica", "B", 16)
    p.cell(0, 10, "Returns", new_x="LMARGIN", new_y="NEXT")
    p.set_font("helvetica", "B", 12)
    p.cell(0, 8, "Damaged goods", new_x="LMARGIN", new_y="NEXT")
    p.set_font("helvetica", size=11)
    p.multi_cell(0, 6, RETURNS, new_x="LMARGIN", new_y="NEXT")
    p.ln(3)
    p.multi_cell(0, 6, "Before you accept a return, check these points:", new_x="LMARGIN", new_y="NEXT")
    for item in ("the order number is on the parcel;", "the seal was broken by the carrier;", "nothing is missing."):
        p.cell(6)
        p.cell(0, 6, "- " + item, new_x="LMARGIN", new_y="NEXT")
    p.ln(3)
    p.multi_cell(0, 6, "A customer who has lost the receipt shows the bank state-\nment of the day. The service desk looks the order up and\nprints a new one, which goes on to", new_x="LMARGIN", new_y="NEXT")
    p.add_page()
    p.multi_cell(0, 6, "the warehouse together with the parcel.", new_x="LMARGIN", new_y="NEXT")
    p.ln(4)
    p.set_font("helvetica", "B", 12)
    p.cell(0, 8, "Refunds", new_x="LMARGIN", new_y="NEXT")
    p.set_font("helvetica", size=11)
    p.multi_cell(0, 6, REFUND, new_x="LMARGIN", new_y="NEXT")
    p.ln(4)
    p.set_font("helvetica", "B", 16)
    p.cell(0, 10, "Repairs", new_x="LMARGIN", new_y="NEXT")
    p.set_font("helvetica", size=11)
    p.multi_cell(0, 6, "Repairs are made in the workshop on Mondays and Thursdays.", new_x="LMARGIN", new_y="NEXT")
    p.set_y(-40)
    p.set_font("helvetica", size=8)
    p.multi_cell(0, 4, "1 The workshop is closed in August.", new_x="LMARGIN", new_y="NEXT")
    p.output(here / "handbook.pdf")


def pdf_columns():
    p = FPDF()
    p.set_creation_date(WHEN)
    p.add_page()
    p.set_font("times", "B", 20)
    p.cell(0, 12, "Tides of the northern coast", new_x="LMARGIN", new_y="NEXT", align="C")
    p.set_font("times", size=10)
    left = ("The tide rises twice a day along the northern coast. Fishers have kept tables of it since the year 1712, and the "
            "oldest of these tables is kept in the harbour office. Spring tides follow the new and the full moon by two days.")
    right = ("Neap tides are lower by a third. In a strong wind from the west the water stays an hour longer in the bay, which "
             "the tables do not show. Pilots therefore ask the keeper of the light before they enter.")
    with p.text_columns(ncols=2, gutter=10, text_align="J") as columns:
        columns.write(left + "\n\n")
        columns.new_column()
        columns.write(right)
    p.output(here / "columns.pdf")


def pdf_others():
    p = FPDF()
    p.set_creation_date(WHEN)
    p.add_page()
    p.set_fill_color(200, 30, 30)
    p.rect(20, 20, 100, 100, style="F")
    p.output(here / "pictures.pdf")
    p = FPDF()
    p.set_creation_date(WHEN)
    p.set_encryption(owner_password="owner", user_password="user")
    p.add_page()
    p.set_font("helvetica", size=12)
    p.cell(0, 10, "secret")
    p.output(here / "locked.pdf")


def word():
    d = docx.Document()
    d.core_properties.title = "Service handbook"
    d.core_properties.created = d.core_properties.modified = WHEN
    d.sections[0].header.paragraphs[0].text = "Northwind Handbook, edition 7"
    d.add_heading("Returns", 1)
    d.add_heading("Damaged goods", 2)
    d.add_paragraph(RETURNS)
    d.add_paragraph("Before you accept a return, check these points:")
    d.add_paragraph("the order number is on the parcel;", style="List Bullet")
    d.add_paragraph("nothing is missing.", style="List Bullet")
    t = d.add_table(rows=1, cols=3)
    for cell, name in zip(t.rows[0].cells, ("Country", "Days", "Fee")):
        cell.text = name
    for row in (("Ireland", "3", "4.50"), ("Norway", "7", "9.00")):
        for cell, value in zip(t.add_row().cells, row):
            cell.text = value
    d.add_heading("Refunds", 2)
    p = d.add_paragraph(REFUND)
    deleted = OxmlElement("w:del")
    run = OxmlElement("w:r")
    gone = OxmlElement("w:delText")
    gone.text = "This sentence was deleted."
    run.append(gone)
    deleted.append(run)
    p._p.append(deleted)
    inserted = OxmlElement("w:ins")
    run = OxmlElement("w:r")
    new = OxmlElement("w:t")
    new.set(qn("xml:space"), "preserve")
    new.text = " Cash is never refunded."
    run.append(new)
    inserted.append(run)
    p._p.append(inserted)
    d.save(here / "handbook.docx")


def slides():
    p = Presentation()
    p.core_properties.title = "Service training"
    p.core_properties.created = p.core_properties.modified = WHEN
    s = p.slides.add_slide(p.slide_layouts[0])
    s.shapes.title.text = "Service training"
    s.placeholders[1].text = "For new colleagues"
    s = p.slides.add_slide(p.slide_layouts[1])
    s.shapes.title.text = "Damaged goods"
    body = s.placeholders[1].text_frame
    body.text = "Ask for a photograph"
    more = body.add_paragraph()
    more.text = "before the parcel is posted"
    more.level = 1
    s.notes_slide.notes_text_frame.text = "Show the parcel from last week."
    s = p.slides.add_slide(p.slide_layouts[5])
    s.shapes.title.text = "Fees"
    t = s.shapes.add_table(3, 2, Inches(1), Inches(2), Inches(6), Inches(2)).table
    for i, row in enumerate((("Country", "Fee"), ("Ireland", "4.50"), ("Norway", "9.00"))):
        for j, value in enumerate(row):
            t.cell(i, j).text = value
    p.save(here / "training.pptx")


def sheets():
    b = openpyxl.Workbook()
    b.properties.created = b.properties.modified = WHEN
    s = b.active
    s.title = "Fees"
    for row in (("Country", "Days", "Fee"), ("Ireland", 3, 4.5), ("Norway", 7, 9)):
        s.append(row)
    s = b.create_sheet("Depots")
    for row in (("Town", "Opened"), ("Leeds", datetime(2019, 5, 1)), ("Cork", datetime(2021, 9, 30))):
        s.append(row)
    hidden = b.create_sheet("Draft")
    hidden.append(("nothing", "here"))
    hidden.sheet_state = "hidden"
    b.save(here / "fees.xlsx")
    (here / "fees.csv").write_text("Country;Days;Fee\nIreland;3;4,50\nNorway;7;\"9,00\nwith tax\"\n", encoding="cp1252")


def opendocument():
    d = OpenDocumentText()
    d.text.addElement(odftext.H(outlinelevel=1, text="Returns"))
    d.text.addElement(odftext.H(outlinelevel=2, text="Damaged goods"))
    p = odftext.P(text="Goods that arrive damaged can be returned.")
    note = odftext.Note(noteclass="footnote")
    note.addElement(odftext.NoteCitation(text="1"))
    body = odftext.NoteBody()
    body.addElement(odftext.P(text="Not in August."))
    note.addElement(body)
    p.addElement(note)
    d.text.addElement(p)
    l = odftext.List()
    for item in ("the order number", "the seal"):
        i = odftext.ListItem()
        i.addElement(odftext.P(text=item))
        l.addElement(i)
    d.text.addElement(l)
    d.save(str(here / "handbook.odt"))
    s = OpenDocumentSpreadsheet()
    t = odftable.Table(name="Fees")
    for row in (("Country", "Fee"), ("Ireland", "4.50"), ("Norway", "9.00")):
        r = odftable.TableRow()
        for value in row:
            c = odftable.TableCell()
            c.addElement(odftext.P(text=value))
            r.addElement(c)
        t.addElement(r)
    empty = odftable.TableRow(numberrowsrepeated=1048570)
    empty.addElement(odftable.TableCell(numbercolumnsrepeated=1024))
    t.addElement(empty)
    s.spreadsheet.addElement(t)
    s.save(str(here / "fees.ods"))
    p = OpenDocumentPresentation()
    layout = style.PageLayout(name="L")
    p.automaticstyles.addElement(layout)
    master = style.MasterPage(name="M", pagelayoutname=layout)
    p.masterstyles.addElement(master)
    for title, text in (("Damaged goods", "Ask for a photograph"), ("Fees", "Ireland 4.50")):
        page = draw.Page(masterpagename=master)
        for cls, words in (("title", title), ("outline", text)):
            f = draw.Frame(width="10cm", height="3cm", x="1cm", y="1cm")
            f.setAttrNS("urn:oasis:names:tc:opendocument:xmlns:presentation:1.0", "class", cls)
            box = draw.TextBox()
            box.addElement(odftext.P(text=words))
            f.addElement(box)
            page.addElement(f)
        p.presentation.addElement(page)
    p.save(str(here / "training.odp"))


def book():
    with zipfile.ZipFile(here / "tales.epub", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        z.writestr("META-INF/container.xml", '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
                   '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>')
        z.writestr("OEBPS/book.opf", '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
                   '<dc:title>Two tales</dc:title></metadata><manifest><item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
                   '<item id="b" href="second%20tale.xhtml" media-type="application/xhtml+xml"/><item id="a" href="first.xhtml" media-type="application/xhtml+xml"/>'
                   '</manifest><spine><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/></spine></package>')
        page = '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>x</title></head><body>%s</body></html>'
        z.writestr("OEBPS/nav.xhtml", page % '<nav epub:type="toc"><ol><li><a href="first.xhtml">The heron</a></li></ol></nav>')
        z.writestr("OEBPS/first.xhtml", page % '<h1>The heron</h1><p>A heron stood in the mill pond.<a epub:type="noteref" href="#n1">1</a></p><aside epub:type="footnote" id="n1" role="doc-footnote"><p>It still does.</p></aside>')
        z.writestr("OEBPS/second tale.xhtml", page % "<h1>The miller</h1><p>The miller sold his left boot.</p>")


def mails():
    m = EmailMessage()
    m["Subject"] = "Fees for Zürich"
    m["From"] = "Ann Field <ann@example.org>"
    m["To"] = "desk@example.org"
    m["Date"] = "Tue, 02 Jan 2024 10:00:00 +0000"
    m["Message-ID"] = "<1@example.org>"
    m.set_content("Hello,\n\nthe fee for Zürich is 12.00 from March on.\n\nAnn\n")
    m.add_alternative("<html><body><p>Hello,</p><p>the fee for <b>Zürich</b> is 12.00 from March on.</p></body></html>", subtype="html")
    m.add_attachment(b"Country;Fee\nSwitzerland;12.00\n", maintype="text", subtype="csv", filename="fees.csv")
    m.set_boundary("=-=")
    for i, part in enumerate(p for p in m.walk() if p.is_multipart()):
        part.set_boundary(f"=-{i}-=")
    (here / "fees.eml").write_bytes(m.as_bytes())
    path = here / "desk.mbox"
    path.unlink(missing_ok=True)
    box = mailbox.mbox(path)
    for n, words in enumerate(("The lift is out of order.", "From today on the lift works again."), 1):
        m = EmailMessage()
        m["Subject"], m["From"], m["Date"] = f"Lift {n}", "porter@example.org", "Tue, 02 Jan 2024 10:00:00 +0000"
        m.set_content(words + "\n")
        one = mailbox.mboxMessage(m)
        one.set_from("porter@example.org Tue Jan  2 10:00:00 2024")
        box.add(one)
    box.close()


def pdf_form():
    """A form whose fields are filled in."""
    d = pymupdf.open()
    p = d.new_page()
    p.insert_text((72, 72), "Claim form", fontsize=18)
    for y, label in ((110, "Name of the customer:"), (140, "Way of payment:"), (170, "Insured:")):
        p.insert_text((72, y), label)
    p.insert_text((72, 200), "The form is sent to the desk in Leeds.")
    for y, name, kind, said in (
        (98, "name", pymupdf.PDF_WIDGET_TYPE_TEXT, "Gertrude Ashworth"),
        (128, "way", pymupdf.PDF_WIDGET_TYPE_COMBOBOX, "cheque"),
    ):
        w = pymupdf.Widget()
        w.field_name, w.field_type, w.rect, w.text_fontsize = name, kind, pymupdf.Rect(220, y, 400, y + 18), 11
        if kind == pymupdf.PDF_WIDGET_TYPE_COMBOBOX:
            w.choice_values = ["cash", "cheque"]
        w.field_value = said
        p.add_widget(w)
    d.save(here / "form.pdf", no_new_id=True)


def pdf_tables():
    """Tables with lines around their cells and without, and a text in several lines in one."""
    p = FPDF()
    p.set_creation_date(WHEN)
    p.add_page()
    p.set_font("helvetica", "B", 16)
    p.cell(0, 10, "Fees by country", new_x="LMARGIN", new_y="NEXT")
    p.set_font("helvetica", size=11)
    p.multi_cell(0, 6, "Fees are due before a parcel is sent. They are paid at the desk or by card, and come back where a parcel is lost on its way.", new_x="LMARGIN", new_y="NEXT")
    p.ln(4)
    with p.table() as t:
        for row in (
            ("Country", "Days on the way", "Fee"),
            ("Ireland", "3", "4.50"),
            ("Norway", "7", "9.00"),
            ("Isle of Man", "5", "6.25"),
            ("Spain", "4", "With an island address the fee is paid twice, once for the boat and once for the van."),
        ):
            t.row(row)
    p.ln(4)
    p.multi_cell(0, 6, "All other countries are served by the post alone, which sets its own fees and its own times.", new_x="LMARGIN", new_y="NEXT")
    p.add_page()
    p.set_font("helvetica", size=10)
    with p.table(borders_layout="NONE", col_widths=(20, 30, 20, 30)) as t:
        for row in (
            ("Code", "Depot", "Opened", "Telephone"),
            ("L1", "Leeds", "2019", "0113 496 0001"),
            ("C2", "Cork", "2021", "021 234 5678"),
            ("H7", "Hull", "2022", "01482 496 000"),
        ):
            t.row(row)
    p.output(here / "tables.pdf")


def outlook():
    """Mails of Outlook: one with two forms of its text, recipients, files and a mail in it; one in RTF and a code page."""
    def properties(header, **values):
        return bytes(header) + b"".join(struct.pack("<IIQ", tag, 6, value) for tag, value in values.values())

    def text(file, at, number, value, encoding="utf-16-le"):
        kind = "001F" if encoding == "utf-16-le" else "001E"
        file.addEntry([*at, f"__substg1.0_{number:04X}{kind}"], value.encode(encoding))

    def message(file, at, header, subject, body, cpid=65001):
        sent = int((WHEN - datetime(1601, 1, 1)).total_seconds()) * 10**7
        file.addEntry([*at, "__properties_version1.0"], properties(
            header, sent=(0x00390040, sent), page=(0x3FFD0003, cpid), internet=(0x3FDE0003, 65001)))
        text(file, at, 0x001A, "IPM.Note")
        text(file, at, 0x0037, subject)
        text(file, at, 0x0C1A, "Ann Bell")
        text(file, at, 0x5D01, "ann@example.org")
        if body:
            text(file, at, 0x1000, body)

    file = extract_msg.OleWriter()
    message(file, [], 32, "Lieferung für März", "Use a reader for HTML.")
    file.addEntry("__substg1.0_10130102", ("<html><body><p>The parcels leave Hull on Monday, at 10<sup>3</sup> a day.</p>"
                                           "<img src='cid:logo1'></body></html>").encode())
    for n, (kind, name, address) in enumerate([(1, "Bob", "bob@example.org"), (2, "Cy", "/o=exchange"), (1, "Dee", "")]):
        at = [f"__recip_version1.0_#{n:08X}"]
        file.addEntry(at, storage=True)
        file.addEntry([*at, "__properties_version1.0"], properties(8, kind=(0x0C150003, kind)))
        text(file, at, 0x3001, name)
        text(file, at, 0x39FE, address)
    for n, (name, data, cid, kind) in enumerate([
        ("list.csv", b"Part,Price\nbolt,1.20\n", "", "text/csv"), ("logo.png", b"\x89PNG\r\n\x1a\n", "logo1", "image/png"),
    ]):
        at = [f"__attach_version1.0_#{n:08X}"]
        file.addEntry(at, storage=True)
        file.addEntry([*at, "__properties_version1.0"], properties(8, method=(0x37050003, 1)))
        text(file, at, 0x3707, name)
        text(file, at, 0x370E, kind)
        if cid:
            text(file, at, 0x3712, cid)
        file.addEntry([*at, "__substg1.0_37010102"], data)
    at = ["__attach_version1.0_#00000002"]
    file.addEntry(at, storage=True)
    file.addEntry([*at, "__properties_version1.0"], properties(8, method=(0x37050003, 5)))
    text(file, at, 0x3001, "Older mail")
    file.addEntry([*at, "__substg1.0_3701000D"], storage=True)
    message(file, [*at, "__substg1.0_3701000D"], 24, "Older mail", "The valve was closed in May.")
    file.write(here / "outlook.msg")

    file = extract_msg.OleWriter()
    message(file, [], 32, "Насос", "", cpid=1251)
    text(file, [], 0x0E04, "Отдел", "cp1251")
    rtf = rb"{\rtf1\ansi\ansicpg1251\pard \'cd\'e0\'f1\'ee\'f1 \'e7\'e0\'ea\'f0\'fb\'f2. " + b"The pump is closed. " * 9 + rb"\par}"
    file.addEntry("__substg1.0_10090102", compressed_rtf.compress(rtf, compressed=True))
    file.write(here / "outlook-rtf.msg")


for make in (pdf_handbook, pdf_columns, pdf_form, pdf_tables, pdf_others, word, slides, sheets, opendocument, book, mails, outlook):
    make()
