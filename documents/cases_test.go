package documents

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filesOfOthers returns the folder ../shared/cases/files beside the checkout. It skips the test if it is not there.
func filesOfOthers(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("CONCLAVE_SHARED")
	if folder == "" {
		folder = filepath.Join("..", "..", "shared")
	}
	folder = filepath.Join(folder, "cases", "files")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there are no files at " + folder)
	}
	return folder
}

// TestFilesOfOthers reads small files that others chose, in ../shared/cases/files beside the checkout, and
// compares them with what a reader sees in them. Where they are not there, it is skipped.
func TestFilesOfOthers(t *testing.T) {
	folder := filesOfOthers(t)
	r := newTestReader(t)
	for name, wants := range map[string][]string{
		"cp1251.csv":             {"Товар | Цена | Остаток", "Яблоко 39 | 139 руб | 39 шт"},
		"exponent.pdf":           {"The limit is 10^3 cells per ml, not 2^10 cells."},
		"feed.xml":               {"News 1\n\nMon, 01 Jan 2024\n\nValve 1 was replaced."},
		"fractions-clauses.docx": {"Give the child 1/2 tablet, an adult 1 1/4 tablets; the limit is 10^3 mg.", "2.2 Late payment"},
		"grid-equal-widths.pdf":  {"Part | Date | Price\nA-101 | 2024-01-01 | 11.50", "A-108 | 2024-01-08 | 18.50"},
		"grid-varied-widths.pdf": {"A-105 | stainless steel | 10.50"},
		"invoices.pdf":           {"Invoice no. 4711", "Customer 88131", "Amount due: 47.20 euro"},
		"letters.pdf":            {"Date: 5 May 2023", "Dear Mr Birch"},
		"long-log.log": {
			"2024-03-01 10:00:00,123 ERROR [worker-0] job 0 failed: timeout after 0s\n2024-03-02 10:01:00,123 ERROR",
			"timeout after 298s\n2024-03-20 10:59:00,123 ERROR [worker-5] job 299 failed: timeout after 299s",
		},
		"mail-calendar.eml":   {"You are invited."},
		"mail-inline-pdf.eml": {"See the sheet."},
		"manpage-sections-lost.html": {
			"pumpctl - control the pump", "SYNOPSIS", "pumpctl [--fast] start VALVE", "needs the orange key", "EXAMPLES",
		},
		"manual.adoc":        {"WARNING: Never open the lid.", "bolt | 1.20\nnut | 0.80", "start(pump)"},
		"manual.org":         {"Never open the lid.", "Part | Price\nbolt | 1.20"},
		"manual.rst":         {"Warning: Never open the lid.", "bolt | 1.20\nnut | 0.80", "See parts and release."},
		"notebook-png.ipynb": {"The gauge at Mill Lane was calibrated in March.", "Mean rainfall was 42 mm."},
		"sep.csv":            {"Part | Price\nbolt | 1,20"},
		"sjis-large.csv":     {"商品名 | 価格 | 在庫\nりんご0号 | 100円 | 0個あり"},
		"sub.srt":            {"[00:00:01] The pump must be serviced every May."},
		"supsub.html":        {"10^3 mg, or 2^10 units", "5·10^-3 mol", "1/2 inch", "Take 1/2 tablet", "H2O2", "Grade | C | Si"},
		"table-plain.pdf":    {"Notice | Effective | Received | Company | City | Staff | Kind\n06/20/2015 | 08/29/2015 | 06/25/2015 | Alder Mills No 1 | Port 0 | 10 | Closure Permanent"},
		"table-ruled.pdf":    {"06/21/2015 | 08/30/2015 | 06/26/2015 | Birch Foods No 2 | Port 1 | 13 | Closure Permanent"},
		"text-table.csv":     {"Name | City | Team | Role\nPerson 0"},
		"twocol-short.pdf":   {"The council looked at the yearly accounts and agreed the spending plan for the next fiscal year."},
		"utf16le-nobom.txt":  {"Die Gebühr beträgt 40 Euro."},
		"year-table.html":    {"Year | 2021 | 2022 | 2023\nPlant 0 | 0 | 0 | 0"},
	} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d, _, err := r.Read(t.Context(), Input{Name: name, Data: data})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(d.Text, want) {
				t.Errorf("%s has no %q: %.2000s", name, want, d.Text)
			}
		}
		if strings.Contains(name, "table") {
			for _, b := range d.Blocks {
				if b.Kind == Row && b.Header == "" && b.Begin > 200 && !strings.HasPrefix(d.TextOf(b), "Notice |") {
					t.Errorf("%s: the row %q has no header", name, d.TextOf(b))
				}
			}
		}
	}
}

// TestFilesInFilesOfOthers: files in an archive have paths inside of it, also if a program of Windows wrote them and if
// they lead out of it; a PDF that a mail shows inline is read; a log longer than what is read of one file comes in
// parts, whose passages are whole lines.
func TestFilesInFilesOfOthers(t *testing.T) {
	folder := filesOfOthers(t)
	bounds := limits()
	bounds.TextBytes = 15_000
	log, err := os.ReadFile(filepath.Join(folder, "long-log.log"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(log), "\n"), "\n")
	at := 0
	pool := newTestPool(t)
	for name, c := range map[string]struct {
		limits Limits
		wants  map[string]string // the text of each file in it, by path
	}{
		"win.zip": {limits(), map[string]string{
			"win.zip/folder/sub/a.txt": "Text in a Windows path about valves.", "win.zip/evil.txt": "Outside text.",
		}},
		"mail-inline-pdf.eml": {limits(), map[string]string{
			"mail-inline-pdf.eml": "Inline attachment\n\nFrom: a@example.org; To: b@example.org; Date: 2024-12-02\n\n" +
				"See the sheet.",
			"mail-inline-pdf.eml/sheet.pdf": "The limit is 10^3 cells per ml, not 2^10 cells.",
		}},
		"long-log.log": {bounds, nil},
	} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
			continue
		}
		r := NewExtractor(c.limits, pool)
		got := map[string]string{}
		var read func(m Member) error
		read = func(m Member) error {
			d, attached, err := r.Read(t.Context(), Input{Name: m.Name, Data: m.Data})
			if err != nil {
				return err
			}
			got[m.Name] = d.Text
			for _, p := range PassagesOf(About{ID: m.Name}, d, m.Data, 100) {
				for line := range strings.SplitSeq(p.Text, "\n") {
					if c.wants == nil && (at >= len(lines) || line != lines[at]) {
						t.Fatalf("%s: the passage %s has the line %q, not line %d of the file", m.Name, p.ID, line, at)
					}
					at++
				}
			}
			for _, inner := range attached {
				if err := read(Member{Name: m.Name + "/" + inner.Name, Data: inner.Data}); err != nil {
					return err
				}
			}
			return nil
		}
		at = 0
		if err := r.Expand(t.Context(), name, data, read); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.wants != nil && !maps.Equal(got, c.wants) {
			t.Errorf("%s has the files %q, want %q", name, got, c.wants)
		}
		if c.wants == nil && (len(got) < 2 || at != len(lines)) {
			t.Errorf("%s: %d lines of %d in %d parts", name, at, len(lines), len(got))
		}
	}
}
