package documents

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// pagesOf returns pages with some lines at the top, one in the middle and some at the foot.
func pagesOf(pages ...[]string) (all []pdfPage) {
	for _, lines := range pages {
		page := pdfPage{Width: 600, Height: 800}
		for i, text := range lines {
			y := 780 - 14*float64(i)
			page.Lines = append(page.Lines, pdfLine{Text: text, Left: 50, Right: 300, Bottom: y, Top: y + 12, Size: 12})
		}
		page.Lines = append(page.Lines, pdfLine{Text: "Body.", Left: 50, Right: 300, Bottom: 400, Top: 412, Size: 12})
		all = append(all, page)
	}
	return all
}

// TestRunningHeads: what repeats exactly, or differs by the page's number alone, is left out behind its first
// occurrence and named; what differs otherwise stays.
func TestRunningHeads(t *testing.T) {
	invoice := func(n int) []string {
		return []string{fmt.Sprintf("Invoice no. %d", n), fmt.Sprintf("Customer 88%d31", n%10)}
	}
	for _, c := range []struct {
		name    string
		pages   []pdfPage
		want    string // the lines at the top that are left
		dropped int
	}{
		{
			"invoices", pagesOf(invoice(4711), invoice(4712), invoice(4713)),
			"Invoice no. 4711|Customer 88131|Invoice no. 4712|Customer 88231|Invoice no. 4713|Customer 88331", 0,
		},
		{"letters", pagesOf([]string{"Date: 5 May"}, []string{"Date: 5 May"}), "Date: 5 May|Date: 5 May", 0},
		{"heads", pagesOf([]string{"Acme Inc"}, []string{"Acme Inc"}, []string{"Acme Inc"}), "Acme Inc", 2},
		{"numbers", pagesOf([]string{"1"}, []string{"2"}, []string{"3"}), "", 3},
		{"both", pagesOf([]string{"Report 7"}, []string{"Report 8"}, []string{"Report 9"}), "Report 7", 2},
		{"page", pagesOf([]string{"Page 1"}, []string{"Page 2"}, []string{"Page 3"}), "Page 1", 2},
		{"of", pagesOf([]string{"Page 1 of 2"}, []string{"Page 2 of 2"}), "", 2},
		{"roman", pagesOf([]string{"iv"}, []string{"v"}), "", 2},
		{
			"amounts", pagesOf([]string{"Due: 5 euro"}, []string{"Due: 9 euro"}, []string{"Due: 7 euro"}),
			"Due: 5 euro|Due: 9 euro|Due: 7 euro", 0,
		},
	} {
		warning := dropRunning(c.pages)
		var left []string
		for _, page := range c.pages {
			for _, line := range page.Lines {
				if line.Text != "" && line.Text != "Body." {
					left = append(left, line.Text)
				}
			}
		}
		if got := strings.Join(left, "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if c.dropped == 0 && warning != "" ||
			c.dropped > 0 && !strings.HasPrefix(warning, fmt.Sprintf("%d lines", c.dropped)) {
			t.Errorf("%s: the warning is %q, want %d lines", c.name, warning, c.dropped)
		}
	}
}

// TestPDFTables: lines whose words stand below each other are rows, also where all entries of a column have one
// width, and where they are drawn column by column; text in columns is none.
func TestPDFTables(t *testing.T) {
	row := func(y float64, words ...pdfWord) pdfLine {
		return pdfLine{
			Text: joinWords(
				words,
			), Left: words[0].Left, Right: words[len(words)-1].Right, Bottom: y, Top: y + 10, Size: 10, Words: words,
		}
	}
	equal := pdfPage{Width: 600, Height: 800}
	var columnwise, prose, gaps pdfPage
	columnwise.Width, columnwise.Height, prose.Width, prose.Height, gaps.Width, gaps.Height = 600, 800, 600, 800, 600, 800
	for i := range 4 {
		y := 700 - 12*float64(i)
		equal.Lines = append(
			equal.Lines,
			row(
				y,
				pdfWord{fmt.Sprintf("A-10%d", i), 50, 80},
				pdfWord{fmt.Sprintf("2024-01-0%d", i), 100, 150},
				pdfWord{fmt.Sprintf("1%d.50", i), 170, 195},
			),
		)
		words := []pdfWord{{fmt.Sprintf("Item%d", i), 50, 90}, {"7", 150, 155}, {fmt.Sprintf("%d.25", i), 200, 220}}
		if i == 2 {
			words = []pdfWord{words[0], words[2]}
		}
		gaps.Lines = append(gaps.Lines, row(y, words...))
	}
	for column := range 3 {
		for i := range 4 {
			y := 700 - 12*float64(i)
			left := 50 + 100*float64(column)
			columnwise.Lines = append(
				columnwise.Lines,
				pdfLine{
					Text:   fmt.Sprintf("%d%d", column, i),
					Left:   left,
					Right:  left + 20,
					Bottom: y,
					Top:    y + 10,
					Size:   10,
				},
			)
		}
	}
	for column := range 2 {
		for i := range 4 {
			y := 700 - 12*float64(i)
			left := 50 + 250*float64(column)
			prose.Lines = append(
				prose.Lines,
				pdfLine{
					Text:   "words of a text that goes on",
					Left:   left,
					Right:  left + 230 - float64(i),
					Bottom: y,
					Top:    y + 10,
					Size:   10,
				},
			)
		}
	}
	for name, c := range map[string]struct {
		page pdfPage
		want []string
	}{
		"equal":      {equal, []string{"A-100 | 2024-01-00 | 10.50", "A-101 | 2024-01-01 | 11.50", "A-102 | 2024-01-02 | 12.50", "A-103 | 2024-01-03 | 13.50"}},
		"gaps":       {gaps, []string{"Item0 | 7 | 0.25", "Item1 | 7 | 1.25", "Item2 |  | 2.25", "Item3 | 7 | 3.25"}},
		"columnwise": {columnwise, []string{"00 | 10 | 20", "01 | 11 | 21", "02 | 12 | 22", "03 | 13 | 23"}},
		"prose":      {prose, nil},
	} {
		var got []string
		for _, table := range findTables(c.page) {
			for _, r := range table.rows {
				got = append(got, joinCells(r))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestPagesOfOneLine: where a line that looks like a running head is all that most pages have, it stays; on a few pages
// without text it goes.
func TestPagesOfOneLine(t *testing.T) {
	for _, c := range []struct {
		name    string
		bodies  int // of five pages
		dropped int
	}{{"cards", 0, 0}, {"one with more", 1, 1}, {"a report with two figures", 3, 4}} {
		var pages []pdfPage
		for i := range 5 {
			pages = append(pages, pagesOf([]string{fmt.Sprint("Potato ", i+1)})...)
			if i < 5-c.bodies {
				pages[i].Lines = pages[i].Lines[:1]
			}
		}
		warning := dropRunning(pages)
		left := 0
		for _, page := range pages {
			for _, line := range page.Lines {
				if strings.HasPrefix(line.Text, "Potato") {
					left++
				}
			}
		}
		if left != 5-c.dropped || (warning != "") != (c.dropped > 0) {
			t.Errorf("%s: %d of 5 lines are left, %q", c.name, left, warning)
		}
	}
}
