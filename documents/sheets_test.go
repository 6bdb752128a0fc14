package documents

import (
	"bytes"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// TestSheetsAreShown: cells have the form that their number format shows, and formulas without a value are named.
func TestSheetsAreShown(t *testing.T) {
	book := excelize.NewFile()
	defer func() { _ = book.Close() }()
	for i, c := range []struct {
		value  any
		format string
	}{{0.125, "0.0%"}, {45352, "dd.mm.yyyy"}, {1234.5, `#,##0.00 "€"`}, {7, "00000"}, {0.75, "h:mm"}} {
		place, _ := excelize.CoordinatesToCellName(2, i+2)
		style, err := book.NewStyle(&excelize.Style{CustomNumFmt: &c.format})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{
			book.SetCellValue("Sheet1", place, c.value), book.SetCellStyle("Sheet1", place, place, style),
			book.SetCellValue("Sheet1", "A"+place[1:], "x"),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, err := range []error{
		book.SetCellValue("Sheet1", "A1", "What"), book.SetCellValue("Sheet1", "B1", "Value"), book.SetCellFormula("Sheet1", "C4", "=B2*2"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := book.Write(&b); err != nil {
		t.Fatal(err)
	}
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.xlsx", Data: b.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	if want := "Sheet1\n\nWhat | Value\nx | 12.5%\nx | 01.03.2024\nx | 1,234.50 €\nx | 00007\nx | 18:00"; d.Text != want {
		t.Errorf("%q, want %q", d.Text, want)
	}
	if len(d.Warnings) != 1 ||
		!strings.HasPrefix(d.Warnings[0], "1 formulas have no value in the file (the first is in C4)") {
		t.Errorf("warnings %q", d.Warnings)
	}
}
