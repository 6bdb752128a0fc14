package documents

import "testing"

// TestTitles: a title of which the text says nothing gives way to the first heading, and that to the name of the
// file.
func TestTitles(t *testing.T) {
	heading := func(text string) *Document {
		return &Document{
			MediaType: PDF,
			Text:      text,
			Blocks:    []Block{{Kind: Heading, Level: 1, Page: 1, End: len(text)}},
			Pages:     1,
		}
	}
	plain := func(text string) *Document {
		return &Document{
			MediaType: PDF,
			Text:      text,
			Blocks:    []Block{{Kind: Paragraph, Page: 1, End: len(text)}},
			Pages:     1,
		}
	}
	for _, c := range []struct {
		d           *Document
		named, file string
		want        string
	}{
		{heading("Pump manual"), "10811.exe", "x.pdf", "Pump manual"},
		{heading("Pump manual"), "(anonymous)", "x.pdf", "Pump manual"},
		{heading("Pump manual"), "Manual of the pump", "x.pdf", "Manual of the pump"},
		{heading("Sales"), "PowerPoint Presentation", "x.pptx", "Sales"},
		{heading("ann@example.org"), "", "pump_manual (1).pdf", "pump manual"},
		{plain("Dear all, the pump runs."), "Untitled spreadsheet", "fees-2024.xlsx", "fees 2024"},
		{plain("Dear all, the pump runs."), "Fees of the year", "fees.xlsx", "Fees of the year"},
		{plain("Dear all."), "Annual report", "93817.pdf", "Annual report"},
		{plain("Dear all."), "scan0001.pdf", "93817.pdf", ""},
		{plain("Dear all."), "", "doc-17", ""},
	} {
		if got := chooseTitle(c.d, c.named, c.file); got != c.want {
			t.Errorf("%q, named %q, in %s: %q, want %q", c.d.Text, c.named, c.file, got, c.want)
		}
	}
}

// TestSmallPieces: short passages of a PDF are joined, and say on which page they end.
func TestSmallPieces(t *testing.T) {
	w := &writer{limits: limits()}
	for page, text := range []string{"Label", "More labels", "End"} {
		w.page = page + 1
		w.add(Heading, 1, "Part")
		w.add(Paragraph, 0, text)
	}
	d, err := w.document(PDF, "")
	if err != nil {
		t.Fatal(err)
	}
	pieces := Cut(d, 100, sizeOf)
	if len(pieces) != 1 || pieces[0].Page != 1 || pieces[0].PageEnd != 3 || pieces[0].Text(d) == "" {
		t.Errorf("%+v", pieces)
	}
}
