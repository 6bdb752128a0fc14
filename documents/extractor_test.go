package documents

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain serves as the process that reads files, too.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "serve-stuck":
		serveStuck(os.Args[2])
	case len(os.Args) == 2 && os.Args[1] == "serve-probe":
		serveProbe()
		return
	case len(os.Args) >= 3 && os.Args[1] == "serve-files":
		o := ServeOptions{Cache: os.Args[2], Memory: 512 << 20}
		if len(os.Args) == 4 {
			o.Memory, _ = strconv.ParseInt(os.Args[3], 10, 64)
		}
		if err := Serve(context.Background(), os.Stdin, os.Stdout, o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 4 && os.Args[1] == "run-confined" { // --memory BYTES -- PROGRAM …
		memory, err := strconv.ParseInt(os.Args[3], 10, 64)
		if err == nil {
			err = BecomeProgram(memory, os.Args[5], os.Args[6:]...)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// testConfiner starts programs by way of the test's own program.
func testConfiner() Confiner { return ConfinerOf(os.Args[0], 1<<30, "run-confined") }

func limits() Limits {
	return Limits{
		FileBytes:     64 << 20,
		UnpackedBytes: 16 << 20,
		TextBytes:     4 << 20,
		Blocks:        1 << 17,
		Time:          time.Minute,
		Depth:         3,
		Members:       1000,
	}
}

// newTestReader reads files in processes of the test's own program.
func newTestReader(tb testing.TB) *Extractor { return NewExtractor(limits(), newTestPool(tb)) }

// newTestPool returns a pool of two processes, which the end of the test ends.
func newTestPool(tb testing.TB) *Pool {
	tb.Helper()
	p := NewPool(PoolOptions{Start: testWorker(), Workers: 2})
	tb.Cleanup(func() { p.Close() })
	return p
}

func testWorker() Worker {
	cache := filepath.Join(os.TempDir(), "conclave-test-pdf")
	if at, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(at, "conclave", "pdf")
	}
	return func() *exec.Cmd { return exec.Command(os.Args[0], "serve-files", cache) }
}

// outline writes a document's blocks, one a line: page, kind, level, the header of a row,
// and the text.
func outline(d *Document) string {
	var b strings.Builder
	for _, block := range d.Blocks {
		if block.Page > 0 {
			fmt.Fprintf(&b, "%d ", block.Page)
		}
		fmt.Fprintf(&b, "%s", block.Kind)
		if block.Level > 0 {
			fmt.Fprintf(&b, "%d", block.Level)
		}
		if block.Header != "" {
			fmt.Fprintf(&b, " [%s]", block.Header)
		}
		fmt.Fprintf(&b, ": %s\n", strings.ReplaceAll(d.TextOf(block), "\n", "⏎"))
	}
	return b.String()
}

const (
	returns = "Goods that arrive damaged can be returned within thirty days. Send a photograph of the damage to the service desk before you post the parcel, and keep the packaging until the carrier has collected it."
	refund  = "The refund is paid to the card that was charged. It takes up to five working days after the parcel has reached the warehouse in Leeds."
)

// TestRead reads files that testdata/make.py made with the libraries that people make such
// files with, and compares every block with what was put in.
func TestRead(t *testing.T) {
	r := newTestReader(t)
	for file, want := range map[string]struct {
		mediaType, title, outline string
		warnings                  []string
	}{
		"handbook.pdf": {PDF, "Service handbook", `1 paragraph: Northwind Handbook, edition 7
1 heading1: Service handbook
1 paragraph: This book says how orders, returns and repairs are handled. It is for people who answer the telephone.
1 heading2: Contents
2 heading2: Returns
2 heading3: Damaged goods
2 paragraph: ` + returns + `
2 paragraph: Before you accept a return, check these points:
2 item1: - the order number is on the parcel;
2 item1: - the seal was broken by the carrier;
2 item1: - nothing is missing.
2 paragraph: A customer who has lost the receipt shows the bank statement of the day. The service desk looks the order up and prints a new one, which goes on to the warehouse together with the parcel.
3 heading3: Refunds
3 paragraph: ` + refund + `
3 heading2: Repairs
3 paragraph: Repairs are made in the workshop on Mondays and Thursdays.
3 note: 1 The workshop is closed in August.
`, []string{
			`5 lines at the top or foot of pages were left out, which repeat or are the page's number: "Northwind Handbook, edition 7"`,
			`4 lines of a table of contents were left out: "Returns ..................................................... 2"`,
		}},
		"columns.pdf": {PDF, "Tides of the northern coast", `1 heading1: Tides of the northern coast
1 paragraph: The tide rises twice a day along the northern coast. Fishers have kept tables of it since the year 1712, and the oldest of these tables is kept in the harbour office. Spring tides follow the new and the full moon by two days.
1 paragraph: Neap tides are lower by a third. In a strong wind from the west the water stays an hour longer in the bay, which the tables do not show. Pilots therefore ask the keeper of the light before they enter.
`, nil},
		"form.pdf": {PDF, "Claim form", `1 heading1: Claim form
1 paragraph: Name of the customer: Gertrude Ashworth
1 paragraph: Way of payment: cheque
1 paragraph: Insured:
1 paragraph: The form is sent to the desk in Leeds.
`, nil},
		"tables.pdf": {PDF, "Fees by country", `1 heading1: Fees by country
1 paragraph: Fees are due before a parcel is sent. They are paid at the desk or by card, and come back where a parcel is lost on its way.
1 row: Country | Days on the way | Fee
1 row [Country | Days on the way | Fee]: Ireland | 3 | 4.50
1 row [Country | Days on the way | Fee]: Norway | 7 | 9.00
1 row [Country | Days on the way | Fee]: Isle of Man | 5 | 6.25
1 row [Country | Days on the way | Fee]: Spain | 4 | With an island address the fee is paid twice, once for the boat and once for the van.
1 paragraph: All other countries are served by the post alone, which sets its own fees and its own times.
2 row: Code | Depot | Opened | Telephone
2 row [Code | Depot | Opened | Telephone]: L1 | Leeds | 2019 | 0113 496 0001
2 row [Code | Depot | Opened | Telephone]: C2 | Cork | 2021 | 021 234 5678
2 row [Code | Depot | Opened | Telephone]: H7 | Hull | 2022 | 01482 496 000
`, nil},
		"handbook.docx": {DOCX, "Service handbook", `heading1: Returns
heading2: Damaged goods
paragraph: ` + returns + `
paragraph: Before you accept a return, check these points:
item1: the order number is on the parcel;
item1: nothing is missing.
row: Country | Days | Fee
row [Country | Days | Fee]: Ireland | 3 | 4.50
row [Country | Days | Fee]: Norway | 7 | 9.00
heading2: Refunds
paragraph: ` + refund + ` Cash is never refunded.
`, []string{`1 headers and footers of pages were left out: "Northwind Handbook, edition 7"`}},
		"training.pptx": {PPTX, "Service training", `1 heading2: Service training
1 paragraph: For new colleagues
2 heading2: Damaged goods
2 item1: Ask for a photograph
2 item2: before the parcel is posted
2 note: Show the parcel from last week.
3 heading2: Fees
3 row: Country | Fee
3 row [Country | Fee]: Ireland | 4.50
3 row [Country | Fee]: Norway | 9.00
`, nil},
		"fees.xlsx": {XLSX, "Fees", `1 heading1: Fees
1 row: Country | Days | Fee
1 row [Country | Days | Fee]: Ireland | 3 | 4.5
1 row [Country | Days | Fee]: Norway | 7 | 9
2 heading1: Depots
2 row: Town | Opened
2 row [Town | Opened]: Leeds | 2019-05-01 0:00:00
2 row [Town | Opened]: Cork | 2021-09-30 0:00:00
`, []string{`the hidden sheet "Draft" was left out`}},
		"fees.csv": {CSV, "fees", `row: Country | Days | Fee
row [Country | Days | Fee]: Ireland | 3 | 4,50
row [Country | Days | Fee]: Norway | 7 | 9,00 with tax
`, nil},
		"fees.ods": {ODS, "Fees", `1 heading1: Fees
1 row: Country | Fee
1 row [Country | Fee]: Ireland | 4.50
1 row [Country | Fee]: Norway | 9.00
`, nil},
		"handbook.odt": {ODT, "Returns", `heading1: Returns
heading2: Damaged goods
paragraph: Goods that arrive damaged can be returned.
note: Not in August.
item1: the order number
item1: the seal
`, nil},
		"training.odp": {ODP, "Damaged goods", `1 heading2: Damaged goods
1 paragraph: Ask for a photograph
2 heading2: Fees
2 paragraph: Ireland 4.50
`, nil},
		"tales.epub": {EPUB, "Two tales", `heading1: The heron
paragraph: A heron stood in the mill pond.
note: It still does.
heading1: The miller
paragraph: The miller sold his left boot.
`, nil},
		"fees.eml": {Mail, "Fees for Zürich", `heading1: Fees for Zürich
paragraph: From: Ann Field <ann@example.org>; To: desk@example.org; Date: 2024-01-02
paragraph: Hello,
paragraph: the fee for Zürich is 12.00 from March on.
paragraph: Ann
`, nil},
		"page.html": {HTML, "Returns – Northwind help", `heading1: Returns
paragraph: ` + returns + `
heading2: What to check
paragraph: Before you accept a return, check these points:
item1: 3. the order number is on the parcel;
item1: 4. the seal was broken
item2: by the carrier, or
item2: by the customer.
heading2: Fees
caption: Fees by country
row: Country | Days | Fee
row [Country | Days | Fee]: Ireland | 3 | 4.50
row [Country | Days | Fee]: Norway | 7 | 9.00
code: returns:⏎  days: 30
paragraph: ` + refund + `
note: Not in August.
`, []string{`21 words that the page marks or names as navigation, a banner, comments or the like were left out: ` +
			`"We use cookies to improve your visit. Accept all cookies?", "Home Shop", "Read also: our newsletter.", ` +
			`"© Northwind, all rights reserved." …`,
			`3 words that the page hides were left out: "A hidden paragraph." …`}},
		"handbook.md": {Markdown, "Service handbook", `heading1: Returns
paragraph: Goods that arrive damaged can be returned within 30 days.
heading2: What to check
paragraph: Before you accept a return, check these points:
item1: the order number is on the parcel;
item1: nothing is missing.
row: Country | Fee
row [Country | Fee]: Ireland | 4.50
row [Country | Fee]: Norway | 9.00
code: returns:⏎  days: 30
note: Not in August.
`, nil},
		"handbook.txt": {Text, "SERVICE HANDBOOK", `heading1: SERVICE HANDBOOK
heading1: Returns
paragraph: Goods that arrive damaged can be returned within thirty days.
heading2: 2.1 What to check
paragraph: Before you accept a return, check:
item1: - the order number;
item1: - the seal.
code: Country   Days   Fee⏎Ireland      3  4.50⏎Norway       7  9.00
`, nil},
	} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			d, _, err := r.Read(t.Context(), Input{Name: file, Data: data})
			if err != nil {
				t.Fatal(err)
			}
			if d.MediaType != want.mediaType || d.Title != want.title {
				t.Errorf("type %s and title %q, want %s and %q", d.MediaType, d.Title, want.mediaType, want.title)
			}
			if got := outline(d); got != want.outline {
				t.Errorf("got\n%s\nwant\n%s", got, want.outline)
			}
			if fmt.Sprint(d.Warnings) != fmt.Sprint(want.warnings) {
				t.Errorf("warnings %q, want %q", d.Warnings, want.warnings)
			}
		})
	}
}

// TestUnreadable: what cannot be read says why.
func TestUnreadable(t *testing.T) {
	r := newTestReader(t)
	for _, c := range []struct {
		file   string
		data   []byte
		reason Reason
	}{
		{"locked.pdf", nil, Encrypted},
		{"pictures.pdf", nil, NoText},
		{"empty.txt", []byte{}, NoText},
		{"blank.md", []byte(" \n\n \t"), NoText},
		{"old.doc", []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 and more"), Encrypted},
		{"photo.png", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00"), NoText},
		{"cut.docx", []byte("PK\x03\x04\x14\x00"), Damaged},
		{"broken.pdf", []byte("%PDF-1.7\nnothing of a PDF"), Damaged},
		{"large.txt", make([]byte, 65<<20), TooLarge},
	} {
		data := c.data
		if data == nil {
			var err error
			data, err = os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := r.Read(t.Context(), Input{Name: c.file, Data: data}); ReasonOf(err) != c.reason {
			t.Errorf("%s: reason %q, want %q (%v)", c.file, ReasonOf(err), c.reason, err)
		}
	}
}

// TestByContent: the name of a file does not decide where its content tells.
func TestByContent(t *testing.T) {
	for file, want := range map[string]string{
		"handbook.pdf": PDF, "handbook.docx": DOCX, "training.pptx": PPTX, "fees.xlsx": XLSX, "handbook.odt": ODT, "fees.ods": ODS, "training.odp": ODP,
		"tales.epub": EPUB, "fees.eml": Mail, "desk.mbox": Mailbox, "page.html": HTML,
	} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if got := Detect(data, "file.bin", ""); got != want {
			t.Errorf("%s under another name is taken for %s", file, got)
		}
	}
}

// TestAttached: files attached to a mail are handed back.
func TestAttached(t *testing.T) {
	data, err := os.ReadFile("testdata/fees.eml")
	if err != nil {
		t.Fatal(err)
	}
	_, attached, err := newTestReader(t).Read(t.Context(), Input{Name: "fees.eml", Data: data})
	if err != nil || len(attached) != 1 || attached[0].Name != "fees.csv" ||
		!strings.Contains(string(attached[0].Data), "Switzerland") {
		t.Errorf("attached %+v, %v", attached, err)
	}
}
