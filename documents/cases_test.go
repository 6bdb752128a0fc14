package documents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesOfOthers reads small files that others chose, in ../shared/cases/files beside the checkout, and
// compares them with what a reader sees in them. Where they are not there, it is skipped.
func TestFilesOfOthers(t *testing.T) {
	folder := os.Getenv("CONCLAVE_SHARED")
	if folder == "" {
		folder = filepath.Join("..", "..", "shared")
	}
	folder = filepath.Join(folder, "cases", "files")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there are no files at " + folder)
	}
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
		"mail-calendar.eml":      {"You are invited."},
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
