package documents

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// layOut returns the document of a PDF's pages, in the reading order of PDFium, which follows columns. It changes
// the pages of the answer. A PDF says where letters are drawn, not what they are. So headings are recognised by
// size and weight, paragraphs by the white space around them, and running heads and page numbers, which are left
// out, by their repetition. Warnings name what is left out and pages that cannot be read. The error is an
// *UnreadableError if there is no text or more than limits allow.
func layOut(answer *pdfAnswer, limits Limits) (*Document, error) {
	pages := answer.Pages
	settleNotes(pages)
	for i := range pages {
		placeTables(&pages[i])
	}
	l := &layout{w: &writer{limits: limits}}
	for _, warning := range []string{dropRunning(pages), dropContents(pages)} {
		if warning != "" {
			l.w.warn("%s", warning)
		}
	}
	l.body = bodySize(pages)
	l.sizes = headingSizes(pages, l.body)
	for i, page := range pages {
		l.page(i+1, page)
	}
	l.flush()
	l.w.page = len(pages)
	d, err := l.w.document(PDF, "")
	if err != nil {
		return nil, err
	}
	d.Title = clean(answer.Title)
	if n := len(answer.Unread); n > 0 {
		d.Warnings = append(
			d.Warnings,
			fmt.Sprintf("%d of %d pages cannot be read (the first is page %d)", n, len(pages), answer.Unread[0]),
		)
	}
	return d, nil
}

// layout collects the lines of the current paragraph and writes blocks.
type layout struct {
	w     *writer
	body  float64   // height of the letters of the main text, in points
	sizes []float64 // heights of the letters of headings, the largest first

	lines []pdfLine // of the current paragraph
	begin int       // the page it begins on
	end   int       // the page it ends on
	left  float64   // of the column
	right float64
	floor float64 // lines below this one may be footnotes
}

// page adds the lines and tables of a page, numbered from 1, in their order. The last paragraph is kept if it may
// go on on the next page.
func (l *layout) page(number int, page pdfPage) {
	l.floor = page.Height / 3
	l.left, l.right = margins(page.Lines)
	first := true
	for i, line := range page.Lines {
		for _, table := range page.tables[i] {
			l.flush()
			l.w.page = number
			addTable(l.w, table.rows, table.headed)
		}
		if line.Text == "" { // a table has it
			continue
		}
		if len(l.lines) > 0 && !l.continues(line, first) {
			l.flush()
		}
		if len(l.lines) == 0 {
			l.begin = number
		}
		l.lines = append(l.lines, line)
		l.end = number
		first = false
	}
	if len(page.Lines) > 0 && l.ended() {
		l.flush()
	}
}

// placeTables finds the tables of a page and stores each in the page's tables at the index of its first line. It
// removes the words of tables from the lines.
func placeTables(page *pdfPage) {
	tables := findTables(*page)
	if len(tables) == 0 {
		return
	}
	page.tables = map[int][]pdfTable{}
	taken := map[int][]pdfCell{}
	for _, t := range tables {
		first := len(page.Lines)
		for _, c := range t.cells {
			taken[c.line] = append(taken[c.line], c)
			first = min(first, c.line)
		}
		page.tables[first] = append(page.tables[first], t)
	}
	for n, cells := range taken {
		l := &page.Lines[n]
		var rest []pdfWord
		for i, w := range l.Words {
			if !slices.ContainsFunc(cells, func(c pdfCell) bool { return c.from <= i && i < c.to }) {
				rest = append(rest, w)
			}
		}
		l.Words = rest
		l.Text = joinWords(rest)
		if len(rest) > 0 {
			l.Left, l.Right = rest[0].Left, rest[len(rest)-1].Right
		}
	}
}

// continues reports whether a line belongs to the current paragraph, by its font, place and text: after a bullet, a
// larger distance, an indent or a short last line a new one begins. newPage is true for the first line of a page, which
// continues the paragraph only in the middle of a sentence. The paragraph must have a line.
func (l *layout) continues(line pdfLine, newPage bool) bool {
	last := l.lines[len(l.lines)-1]
	if line.Size == 0 || last.Size == 0 { // nothing is known of where it is
		return !bullet.MatchString(line.Text)
	}
	if !alike(line, last) || bullet.MatchString(line.Text) {
		return false
	}
	if l.note(line) != l.note(l.lines[0]) {
		return false
	}
	down := last.Bottom - line.Bottom
	if newPage || down < -line.Size/2 { // the next page or column
		first, _ := utf8.DecodeRuneInString(strings.TrimSpace(line.Text))
		return unicode.IsLower(first) && !ends(last.Text)
	}
	if down < line.Size/2 {
		return true // on the same line
	}
	if down > leading(l.lines, line)*1.35 {
		return false
	}
	indented := line.Left > last.Left+line.Size*0.8 && !bullet.MatchString(l.lines[0].Text) && len(l.lines) > 1
	short := last.Right < l.right-(l.right-l.left)*0.2
	return !(ends(last.Text) && (indented || short))
}

// leading returns the distance between the last two lines of a paragraph, in points. For a single line, or two at
// one height, it estimates that from the height of the next line's letters.
func leading(lines []pdfLine, next pdfLine) float64 {
	if n := len(lines); n > 1 {
		if d := lines[n-2].Bottom - lines[n-1].Bottom; d > next.Size/2 {
			return d
		}
	}
	return next.Size * 1.3
}

// alike reports whether two lines have letters of about the same height, and both or neither are bold.
func alike(a, b pdfLine) bool {
	return math.Abs(a.Size-b.Size) <= 0.12*math.Max(a.Size, b.Size) && a.Bold == b.Bold
}

// ends reports whether a text ends with a full stop, colon, question or exclamation mark, before closing quotes or
// brackets.
func ends(text string) bool {
	text = strings.TrimRight(text, " \"'”’)]")
	return strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") ||
		strings.HasSuffix(text, ":")
}

// ended reports whether the current paragraph cannot continue on the next page: it is empty, a heading, or ends a
// sentence.
func (l *layout) ended() bool {
	return len(l.lines) == 0 || ends(l.lines[len(l.lines)-1].Text) || l.heading() > 0
}

// note reports whether a line belongs to a footnote: its letters are small and it stands in the lower third of the
// page.
func (l *layout) note(line pdfLine) bool {
	return line.Size > 0 && line.Size < 0.88*l.body && line.Top < l.floor
}

// heading returns the heading level, from 1 to 6, of the current paragraph; 0 if it is no heading. The paragraph must
// have a line.
func (l *layout) heading() int {
	first := l.lines[0]
	if len(l.lines) > 4 { // a paragraph may go on over many pages, and each asks
		return 0
	}
	text := strings.TrimSpace(joinLines(texts(l.lines)))
	if utf8.RuneCountInString(text) > 200 || !strings.ContainsFunc(text, unicode.IsLetter) {
		return 0
	}
	words := len(strings.Fields(text))
	if words > 14 && strings.HasSuffix(text, ".") { // a sentence, however large
		return 0
	}
	if at := slices.IndexFunc(l.sizes, func(s float64) bool { return first.Size >= s*0.97 }); at >= 0 &&
		first.Size > 0 {
		return min(at+1, 6)
	}
	if len(l.lines) <= 2 && words <= 14 && first.Bold && !strings.HasSuffix(text, ".") &&
		!strings.HasSuffix(text, ",") &&
		!bulletOnly.MatchString(text) {
		return min(len(l.sizes)+1, 6)
	}
	return 0
}

// bulletOnly matches items of a list that are no numbered headings.
var bulletOnly = regexp.MustCompile(`^\s*[-*•‣◦–]`)

// texts returns the texts of the lines.
func texts(lines []pdfLine) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = line.Text
	}
	return all
}

// flush writes the current paragraph as a block, if there is one, and begins an empty one. The block is a heading,
// a footnote, an item of a list or a paragraph, by the look of its lines.
func (l *layout) flush() {
	if len(l.lines) == 0 {
		return
	}
	kind := Paragraph
	level := l.heading()
	switch {
	case level > 0:
		kind = Heading
	case l.note(l.lines[0]):
		kind = Note
	case bullet.MatchString(l.lines[0].Text):
		kind, level = Item, 1
	}
	l.w.page, l.w.pageEnd = l.begin, l.end
	l.w.add(kind, level, joinLines(texts(l.lines)))
	l.lines = l.lines[:0]
	l.w.pageEnd = 0
}

// bodySize returns the height of the letters of the main text, in points, rounded to a half; 0 if no place of a
// line is known. Long lines count more, as diagrams and tables may hold more letters than the main text.
func bodySize(pages []pdfPage) float64 {
	letters := map[float64]int{}
	for _, page := range pages {
		for _, line := range page.Lines {
			n := len(line.Text)
			letters[math.Round(line.Size*2)/2] += n * min(n, 100)
		}
	}
	best := 0.0
	most := -1
	for size, n := range letters {
		if size > 0 && (n > most || n == most && size < best) {
			best, most = size, n
		}
	}
	return best
}

// headingSizes returns up to five heights of letters that are larger than body, the largest first. Heights that differ
// by little count as one. Letters of more than four lines in a row are not those of a heading.
func headingSizes(pages []pdfPage, body float64) []float64 {
	var sizes []float64
	for _, page := range pages {
		run := 0
		for i, line := range page.Lines {
			if i > 0 && math.Abs(line.Size-page.Lines[i-1].Size) < 0.5 {
				run++
			} else {
				run = 0
			}
			if line.Size > body*1.13 && run < 4 && strings.ContainsFunc(line.Text, unicode.IsLetter) {
				sizes = append(sizes, line.Size)
			}
		}
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	var distinct []float64
	for _, s := range sizes {
		if n := len(distinct); n == 0 || s < distinct[n-1]*0.94 {
			distinct = append(distinct, s)
		} else {
			distinct[n-1] = s
		}
	}
	return distinct[:min(len(distinct), 5)]
}

// margins returns the left and right edge of the text of a page, in points. A tenth of the lines may stand outside of
// each. 0, 0: no place of a line is known.
func margins(lines []pdfLine) (left, right float64) {
	var lefts, rights []float64
	for _, line := range lines {
		if line.Size > 0 {
			lefts, rights = append(lefts, line.Left), append(rights, line.Right)
		}
	}
	if len(lefts) == 0 {
		return 0, 0
	}
	slices.Sort(lefts)
	slices.Sort(rights)
	return lefts[len(lefts)/10], rights[len(rights)*9/10]
}
