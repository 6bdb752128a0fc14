package documents

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// longPDF returns a PDF of so many pages, each with a running head, paragraphs that go on over pages, and a table.
func longPDF(pages int) []byte {
	var all []pdfPageOf
	for i := range pages {
		var b strings.Builder
		b.WriteString(shown(50, 770, "Handbook of pumps", 9, 0))
		for line := range 45 {
			text := fmt.Sprintf("line %d of page %d says that the valve number %d is opened by two people", line, i+1, 7*i+line)
			b.WriteString(shown(50, 740-14*line, text, 11, 0, "2", 7, 4, " at noon and", 11, 0))
		}
		for row := range 4 {
			y := 90 - 14*row
			b.WriteString(shown(50, y, fmt.Sprintf("Part %d", row), 11, 0) + shown(250, y, fmt.Sprintf("%d.50", i+row), 11, 0) +
				shown(400, y, fmt.Sprintf("Depot %d", row%3), 11, 0))
		}
		all = append(all, pdfPageOf{content: b.String()})
	}
	return pagesPDF(all...)
}

// TestPDFParts: a long PDF that several processes read gives the document that one gives.
func TestPDFParts(t *testing.T) {
	for _, pages := range []int{40, 80} {
		data := longPDF(pages)
		if len(data) < partedBytes {
			t.Fatalf("%d bytes are read by one process", len(data))
		}
		var read []*Document
		for _, workers := range []int{1, 3} {
			pool := NewPool(PoolOptions{Start: testWorker(), Workers: workers, Grown: 1 << 40})
			d, _, err := NewExtractor(limits(), pool).For("", 100).Read(t.Context(), Input{Name: "a.pdf", Data: data})
			if err != nil {
				t.Fatal(err)
			}
			if len(pool.idle) != workers {
				t.Errorf("%d processes read, want %d", len(pool.idle), workers)
			}
			read = append(read, d)
			if err := pool.Close(); err != nil {
				t.Error(err)
			}
		}
		if !reflect.DeepEqual(read[0], read[1]) {
			t.Errorf("%d pages: one process reads %d blocks, %q; several %d blocks, %q", pages,
				len(read[0].Blocks), read[0].Warnings, len(read[1].Blocks), read[1].Warnings)
		}
		last := fmt.Sprintf("line 44 of page %d says", pages)
		if !strings.Contains(read[1].Text, last) || read[1].Pages != pages {
			t.Errorf("%q is not in the text of %d pages", last, read[1].Pages)
		}
	}
}

// TestPDFPartsRefused: of a long PDF that is damaged, the reason is the one that one process gives.
func TestPDFPartsRefused(t *testing.T) {
	r := newTestReader(t)
	damaged := append([]byte("%PDF-1.7\n"), make([]byte, partedBytes)...)
	_, _, err := r.Read(t.Context(), Input{Name: "a.pdf", Data: damaged})
	if ReasonOf(err) != Damaged {
		t.Errorf("a damaged file: %v", err)
	}
	bounds := limits()
	bounds.TextBytes = 300_000 // more than a part has
	_, _, err = NewExtractor(bounds, r.pool).Read(t.Context(), Input{Name: "a.pdf", Data: longPDF(80)})
	if ReasonOf(err) != TooLarge || !strings.Contains(err.Error(), "documents.text_bytes") {
		t.Errorf("a long file: %v", err)
	}
	for _, broken := range [][]byte{{1, 2}, {0, 0, 0, 200, 1}, []byte("\x00\x00\x00\x02\x01\x01")} {
		if a, err := decodeParts(broken); err == nil {
			t.Errorf("%v is decoded as %v", broken, a)
		}
	}
}
