package documents

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// drawnInOne returns the operator that draws texts from (x, y) on in one piece, each so many points behind the last.
func drawnInOne(x, y, apart int, texts ...string) string {
	return fmt.Sprintf("BT /F 10 Tf %d %d Td [(%s)] TJ ET\n", x, y,
		strings.Join(texts, fmt.Sprintf(") %d (", -100*apart)))
}

// tableRows returns the texts of the rows of tables in a PDF of one page.
func tableRows(t *testing.T, page pdfPageOf) (rows []string) {
	d, _, err := newTestReader(t).Read(t.Context(), Input{Name: "a.pdf", Data: pagesPDF(page)})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range d.Blocks {
		if b.Kind == Row {
			rows = append(rows, d.TextOf(b))
		}
	}
	return rows
}

// TestPDFRowsDrawnInOne: a row of a table has its cells though the file draws it in one piece and moves the pen between
// them, and though two of them are nearer to each other than cells usually are.
func TestPDFRowsDrawnInOne(t *testing.T) {
	content := shown(50, 740, "Pumps and what they lift.", 10, 0)
	want := []string{"Pump | Litres | Metres"}
	content += drawnInOne(50, 720, 40, "Pump", "Litres", "Metres")
	for i := range 8 {
		litres := fmt.Sprint(1000 + 7*i)
		content += drawnInOne(50, 706-14*i, 40, fmt.Sprintf("P%03d", i), litres, fmt.Sprint(100+i))
		want = append(want, fmt.Sprintf("P%03d | %s | %d", i, litres, 100+i))
	}
	content += "BT /F 10 Tf 50 594 Td [(P008) -4000 (1056 lifts) -600 (1108)] TJ ET\n"
	want = append(want, "P008 | 1056 lifts | 1108")
	if got := tableRows(t, pdfPageOf{content: content}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPDFRulesInPieces: a rule that is drawn in a piece for each row holds the table together as one in one piece does.
func TestPDFRulesInPieces(t *testing.T) {
	rows := [][2]string{
		{"what the town offers", "and what it is for"},
		{"lamps in the streets", "light for all who walk home in the dark"},
		{"wells in the yards", "water for those who have no tap of their own"},
		{"carts for the market", "loads of wood and of hay from the hills"},
		{"bells in the tower", "calls to all the people of the town in need"},
		{"bridges of old stone", "roads for carts over the two rivers there"},
	}
	var content strings.Builder
	content.WriteString("0.5 w\n50 720 m 500 720 l S 50 700 m 500 700 l S 50 600 m 500 600 l S\n")
	var want []string
	for i, row := range rows {
		y := 700 - 20*i
		fmt.Fprintf(&content, "180 %d m 180 %d l S\n", y, y+20)
		content.WriteString(shown(60, y+6, row[0], 10, 0) + shown(190, y+6, row[1], 10, 0))
		want = append(want, row[0]+" | "+row[1])
	}
	if got := tableRows(t, pdfPageOf{content: content.String()}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUncodedLetters: letters without a code in Unicode are in no text.
func TestUncodedLetters(t *testing.T) {
	l := pdfLine{Text: "\uffffMink \uffff 5\uffff7", Words: []pdfWord{
		{"\uffffMink", 1, 2}, {"\uffff", 3, 4}, {"5\uffff7", 5, 6},
	}}
	dropUncoded(&l)
	if want := []pdfWord{{"Mink", 1, 2}, {"57", 5, 6}}; l.Text != "Mink 57" || !slices.Equal(l.Words, want) {
		t.Errorf("%q, %v", l.Text, l.Words)
	}
}

// TestPDFTableAboveColumns: a table above text in two columns stays a table, and its caption is none of its rows.
func TestPDFTableAboveColumns(t *testing.T) {
	content := drawnInOne(50, 760, 20, "Table 7.", "What the pumps of the three towns have lifted until June of this year")
	var want []string
	y := 740
	row := func(cells ...string) {
		for i, cell := range cells {
			content += shown(50+120*i, y, cell, 10, 0)
		}
		want = append(want, strings.Join(cells, " | "))
		y -= 13
	}
	row("Town", "Pumps", "Litres", "Metres")
	for i := range 6 {
		row(fmt.Sprintf("Town %d", i), fmt.Sprint(3+i), fmt.Sprint(900+i), fmt.Sprint(20+i))
	}
	y -= 14
	for i := range 12 {
		left := fmt.Sprintf("and so the %d men of the town went up", i)
		content += shown(50, y-12*i, left, 10, 0)
	}
	for i := range 12 {
		content += shown(310, y-12*i, fmt.Sprintf("to the well with %d pails, as it was said", i), 10, 0)
	}
	if got := tableRows(t, pdfPageOf{content: content}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
