package documents

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestLayOutKeepsWords lays out pages of lines and cells at random places: it ends, and each word is
// in the text once, whatever was taken for a table.
func TestLayOutKeepsWords(t *testing.T) {
	const seed = 41
	rng := rand.New(rand.NewPCG(seed, seed))
	t.Logf("seed %d", seed)
	tables := 0
	for round := range 2000 {
		n := 0
		word := func() string { n++; return fmt.Sprintf("w%d", n) }
		page := pdfPage{Width: 600, Height: 800}
		y := 700.0
		columns := []float64{60, 60 + 200*rng.Float64(), 320 + 100*rng.Float64()}[:2+rng.IntN(2)]
		for range 1 + rng.IntN(12) {
			line := pdfLine{Bottom: y, Top: y + 12, Size: 12, Bold: rng.IntN(4) == 0}
			var all []string
			for _, left := range columns {
				if rng.IntN(8) == 0 {
					continue
				}
				left += 30 * float64(rng.IntN(3)) * rng.Float64()
				text := word()
				for range rng.IntN(3) {
					text += " " + word()
				}
				all = append(all, text)
				line.Words = append(line.Words, pdfWord{text, left, left + 10*float64(len(text))*rng.Float64()})
			}
			if len(all) == 0 {
				continue
			}
			line.Text, line.Left, line.Right = strings.Join(all, " "), line.Words[0].Left, line.Words[len(all)-1].Right
			if len(all) == 1 {
				line.Words = nil
			}
			page.Lines = append(page.Lines, line)
			y -= 8 + 20*rng.Float64()
		}
		if n == 0 {
			continue
		}
		d, err := layOut(&pdfAnswer{Pages: []pdfPage{page}}, limits())
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		var want []string
		for i := range n {
			want = append(want, fmt.Sprintf("w%d", i+1))
		}
		got := strings.FieldsFunc(d.Text, func(r rune) bool { return strings.ContainsRune(" \n|›", r) })
		slices.Sort(got)
		slices.Sort(want)
		got = slices.Compact(got) // a name over several columns stands before each
		if !slices.Equal(got, want) {
			t.Fatalf("round %d: %q of %q", round, got, want)
		}
		if slices.ContainsFunc(d.Blocks, func(b Block) bool { return b.Kind == Row }) {
			tables++
		}
	}
	if tables < 50 {
		t.Errorf("%d tables say little", tables)
	}
	t.Logf("%d pages had tables", tables)
}

// TestManyCells: a page of very many lines of two full columns, which are no table, is read.
func TestManyCells(t *testing.T) {
	page := pdfPage{Width: 600, Height: 800}
	for i := range 20_000 {
		y := 800 - float64(i)
		page.Lines = append(page.Lines, pdfLine{
			Text: "left right", Left: 0, Right: 600, Bottom: y, Top: y + 12, Size: 1,
			Words: []pdfWord{{"left", 0, 290}, {"right", 310, 600}},
		})
	}
	d, err := layOut(&pdfAnswer{Pages: []pdfPage{page}}, limits())
	if err != nil || strings.Count(d.Text, "left right") != 20_000 {
		t.Errorf("%v: %d lines", err, strings.Count(d.Text, "left right"))
	}
}

// TestFieldsBeside: what a field holds comes behind its label, and what has none stays last.
func TestFieldsBeside(t *testing.T) {
	line := func(text string, left, bottom float64) pdfLine {
		return pdfLine{Text: text, Left: left, Right: left + 50, Bottom: bottom, Top: bottom + 12, Size: 12}
	}
	lines := []pdfLine{
		line("Name:", 10, 700), line("Town:", 10, 680), line("Sent.", 10, 600),
		line("Leeds", 90, 681), line("Gertrude", 90, 699), line("alone", 90, 100),
	}
	var got []string
	for _, l := range besideFields(lines, 3) {
		got = append(got, l.Text)
	}
	if want := []string{"Name:", "Gertrude", "Town:", "Leeds", "Sent.", "alone"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
