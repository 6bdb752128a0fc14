package documents

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"testing"
)

// TestDrawPage: a page of a PDF is drawn with a passage marked at the lines where pdftotext -bbox finds its words, and
// nowhere else. A page that there is not, and a file that is no PDF, are told.
func TestDrawPage(t *testing.T) {
	data, err := os.ReadFile("testdata/handbook.pdf")
	if err != nil {
		t.Fatal(err)
	}
	r := newTestReader(t)
	const passage = "A customer who has lost the receipt shows the bank statement of the day. The service desk looks the " +
		"order up and prints a new one, which goes on to"
	plain, err := r.DrawPage(t.Context(), data, 2, "")
	if err != nil || plain.Pages != 3 || yellow(t, plain.PNG, image.Rect(0, 0, 1200, 1700)) != 0 {
		t.Fatalf("%d pages, %d bytes, %v", plain.Pages, len(plain.PNG), err)
	}
	drawn, err := r.DrawPage(t.Context(), data, 2, passage)
	if err != nil {
		t.Fatal(err)
	}
	// In points by pdftotext; a point is two pixels.
	points := func(left, top, right, bottom int) image.Rectangle {
		return image.Rect(2*left, 2*top, 2*right, 2*bottom)
	}
	all := yellow(t, drawn.PNG, image.Rect(0, 0, 1200, 1700))
	inside := 0
	for _, line := range []image.Rectangle{
		points(30, 221, 315, 238), points(30, 238, 312, 255), points(30, 255, 203, 272),
	} {
		n := yellow(t, drawn.PNG, line)
		if 3*n < line.Dx()*line.Dy()/2 {
			t.Errorf("of the line at %v %d pixels are marked", line, n)
		}
		inside += n
	}
	if inside < all*98/100 {
		t.Errorf("%d of %d marked pixels are in the passage's lines", inside, all)
	}
	if none, err := r.DrawPage(t.Context(), data, 4, passage); err != nil || none.PNG != nil || none.Pages != 3 {
		t.Errorf("page 4: %d bytes, %d pages, %v", len(none.PNG), none.Pages, err)
	}
	if _, err := r.DrawPage(t.Context(), []byte("%PDF-1.7 and nothing else"), 1, passage); ReasonOf(err) != Damaged {
		t.Errorf("a damaged file: %v", err)
	}
	if _, err := NewExtractor(limits(), nil).DrawPage(t.Context(), data, 1, ""); ReasonOf(err) != Unsupported {
		t.Errorf("without a pool: %v", err)
	}
}

// yellow returns the number of pixels in a part of a picture that are marked.
func yellow(t *testing.T, picture []byte, part image.Rectangle) (n int) {
	t.Helper()
	shown, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	part = part.Intersect(shown.Bounds())
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			if red, _, blue, _ := shown.At(x, y).RGBA(); red > 0xf000 && blue < 0xa000 {
				n++
			}
		}
	}
	return n
}

// TestCommonLetters: letters of a page are those of a text if they stand in a long run of it, whatever stands between
// them; short texts have to be there whole.
func TestCommonLetters(t *testing.T) {
	for _, c := range []struct{ page, text, want string }{
		{"The carrier col-\nlected it. More.", "the carrier collected it", "Thecarriercollectedit"},
		{"A ﬁne of 80 crowns is due", "fine of 80 crowns is due", "ﬁneof80crownsisdue"},
		{"To the service desk: bring it", "the service desk looks the order up and prints it", ""},
		{"one two three", "four", ""},
		{"No. Not here", "not", "Not"},
		{"", "x", ""},
		{"x", "", ""},
	} {
		page := []rune(c.page)
		got := ""
		for _, i := range commonLetters(page, c.text) {
			got += string(page[i])
		}
		if got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.text, c.page, got, c.want)
		}
	}
}
