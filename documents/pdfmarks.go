package documents

import (
	"image"
	"slices"
	"strings"
	"unicode"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/requests"
	"golang.org/x/text/unicode/norm"
)

const (
	mostMarked  = 50_000 // letters of a page that are looked at
	sameLetters = 12     // letters in a row that have to be those of the text
	sureLetters = 24     // letters in a row that are the passage; fewer are where they are near such
	nearLetters = 40     // letters between both, at most
	mostGap     = 3      // characters between two marked ones of a line that are marked, too, such as spaces
)

// placesOf returns where on a drawn page the words of a text stand, in pixels, in the order of the page: one
// rectangle for each part of a line. It is nil if the page does not have the text. The text may have other white
// space, hyphens and line breaks than the page. drawn is the size of the picture. Only the first mostMarked letters
// of a page are searched. The error is PDFium's.
func placesOf(p pdfium.Pdfium, page requests.Page, drawn image.Rectangle, text string) ([]image.Rectangle, error) {
	loaded, err := p.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: page})
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = p.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: loaded.TextPage}) }()
	count, err := p.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: loaded.TextPage})
	if err != nil {
		return nil, err
	}
	characters := make([]rune, min(count.Count, mostMarked))
	for i := range characters {
		got, err := p.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: loaded.TextPage, Index: i})
		if err != nil {
			return nil, err
		}
		characters[i] = rune(got.Unicode)
	}
	pixel := func(x, y float32) (image.Point, error) {
		at, err := p.FPDF_PageToDevice(&requests.FPDF_PageToDevice{
			Page: page, SizeX: drawn.Dx(), SizeY: drawn.Dy(), PageX: float64(x), PageY: float64(y),
		})
		if err != nil {
			return image.Point{}, err
		}
		return image.Pt(at.DeviceX, at.DeviceY), nil
	}
	var places []image.Rectangle
	last := -1 - mostGap
	for _, i := range commonLetters(characters, text) {
		box, err := p.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: loaded.TextPage, Index: i})
		if err != nil {
			continue // a character that is nowhere on the page
		}
		one, err := pixel(box.Rect.Left, box.Rect.Top)
		if err != nil {
			return nil, err
		}
		other, err := pixel(box.Rect.Right, box.Rect.Bottom)
		if err != nil {
			return nil, err
		}
		at := image.Rectangle{Min: one, Max: other}.Canon()
		if n := len(places); n > 0 && i-last <= mostGap+1 && isSameLine(places[n-1], at) {
			places[n-1] = places[n-1].Union(at)
		} else {
			places = append(places, at)
		}
		last = i
	}
	return places, nil
}

// isSameLine reports whether a letter stands beside a marked part of a line: their heights overlap by more than a half.
func isSameLine(part, letter image.Rectangle) bool {
	shared := min(part.Max.Y, letter.Max.Y) - max(part.Min.Y, letter.Min.Y)
	return 2*shared > min(part.Dy(), letter.Dy())
}

// commonLetters returns, in ascending order, the indexes of the characters of a page that are letters or digits in a
// run of sameLetters, or of all letters of a shorter text, that the text has too. Runs shorter than sureLetters count
// only near a longer one. It returns nil for a text without letters and digits.
func commonLetters(page []rune, text string) (found []int) {
	wanted, _ := lettersOf([]rune(text))
	size := min(sameLetters, len(wanted))
	if size == 0 {
		return nil
	}
	runs := map[string]bool{}
	for i := 0; i+size <= len(wanted); i++ {
		runs[string(wanted[i:i+size])] = true
	}
	letters, at := lettersOf(page)
	common := make([]bool, len(letters))
	for i := 0; i+size <= len(letters); i++ {
		if runs[string(letters[i:i+size])] {
			for j := i; j < i+size; j++ {
				common[j] = true
			}
		}
	}
	keepSure(common, min(sureLetters, len(wanted)))
	for i, is := range common {
		if is && (len(found) == 0 || found[len(found)-1] != at[i]) {
			found = append(found, at[i])
		}
	}
	return found
}

// keepSure sets to false, in place, each run of true values that is shorter than sure and more than nearLetters away
// from every run of at least that length. common says which letters of a page also stand in the searched passage: short
// common pieces, such as "the service desk", may stand elsewhere on the page, too.
func keepSure(common []bool, sure int) {
	type span struct{ begin, end int }
	var runs []span
	for i, is := range common {
		switch {
		case !is:
		case len(runs) > 0 && runs[len(runs)-1].end == i:
			runs[len(runs)-1].end++
		default:
			runs = append(runs, span{i, i + 1})
		}
	}
	long := func(r span) bool { return r.end-r.begin >= sure }
	for _, r := range runs {
		near := func(other span) bool {
			return long(other) && other.begin-r.end <= nearLetters && r.begin-other.end <= nearLetters
		}
		if !long(r) && !slices.ContainsFunc(runs, near) {
			clear(common[r.begin:r.end])
		}
	}
}

// lettersOf returns the letters and digits of a text in lower case, with ligatures and the like as single letters,
// and for each the index of its character in text.
func lettersOf(text []rune) (letters []rune, at []int) {
	for i, character := range text {
		for _, r := range norm.NFKC.String(strings.ToLower(string(character))) {
			if unicode.IsLetter(r) || unicode.IsNumber(r) {
				letters = append(letters, r)
				at = append(at, i)
			}
		}
	}
	return letters, at
}

// highlight colours a rectangle of a picture as a yellow pen does: what is black stays black. The part outside of
// the picture is ignored.
func highlight(picture *image.RGBA, at image.Rectangle) {
	const red, green, blue = 255, 224, 122
	at = at.Intersect(picture.Bounds())
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			p := picture.Pix[picture.PixOffset(x, y):]
			p[0] = uint8(int(p[0]) * red / 255)
			p[1] = uint8(int(p[1]) * green / 255)
			p[2] = uint8(int(p[2]) * blue / 255)
		}
	}
}
