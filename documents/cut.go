package documents

import (
	"cmp"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/internal/granules"
)

// Piece is a part of a document that becomes a passage: bytes Begin to End of its text.
type Piece struct {
	Headings []string // the heading path, the highest first
	// Lead is put before the piece's text so that it can be understood: the header of the
	// table whose rows it has, or the sentence that introduces its list. "": nothing.
	Lead       string
	Begin, End int
	Page       int // first page; 0 if the document has no pages
	PageEnd    int // last page; 0 if that is Page
}

// Text returns the text of a passage: the Lead, if any, on a line before the piece's own text.
func (p *Piece) Text(d *Document) string {
	if p.Lead == "" {
		return d.Text[p.Begin:p.End]
	}
	return p.Lead + "\n" + d.Text[p.Begin:p.End]
}

// Cut cuts a document into pieces whose size is about usual and never more than Longest(usual). size counts the words,
// or the tokens, of a text. A piece stays within the section of one heading, except that short pieces of a PDF are
// joined (joinSmall). It ends between paragraphs where possible, else between sentences, rows or lines of code. A
// paragraph of at most Longest(usual) stays whole. A longer sentence, row or line is cut between clauses, else between
// words, else inside a word.
func Cut(d *Document, usual int, size func(string) int) []Piece {
	c := cutter{
		d: d, usual: usual, most: Longest(usual), size: size,
		repeats: headingsMinimum + headingsShare*len(d.Text),
	}
	for i := 0; i < len(d.Blocks); {
		if b := d.Blocks[i]; b.Kind == Heading {
			c.enter(b)
			i++
			continue
		}
		end := i
		for end < len(d.Blocks) && d.Blocks[end].Kind != Heading {
			end++
		}
		c.section(d.Blocks[i:end])
		i = end
	}
	c.leave()
	if d.MediaType == PDF {
		return joinSmall(d, c.pieces, usual, size)
	}
	return c.pieces
}

// The headings before all pieces of a document together have at most so many bytes, and so many for each of its
// text. Only sections that are much shorter than their headings come near to that; behind it, pieces have none.
const (
	headingsMinimum = 1 << 20
	headingsShare   = 8
)

// Longest returns the largest size of a piece when pieces of the size usual are wanted: 1.6 times as much, rounded
// down.
func Longest(usual int) int { return usual * 8 / 5 }

// cutter holds the state of Cut: the pieces so far and the headings above the current place.
type cutter struct {
	d      *Document
	usual  int
	most   int
	size   func(string) int
	path   []Block // the headings above the current place, the highest first
	empty  bool    // nothing was found below the last heading yet
	pieces []Piece
	// repeats is how many bytes of headings further pieces may still have.
	repeats int
}

// enter begins the section of a heading, and so ends the sections of the headings of the same or a deeper level before
// it. If the last of these has neither text nor headings below it, it becomes a piece of its own, so that searches find
// it. The exception is such a heading at the beginning of the document: it becomes the title, above all other headings.
func (c *cutter) enter(heading Block) {
	keep := len(c.path)
	for keep > 0 && c.path[keep-1].Level >= heading.Level {
		keep--
	}
	if c.empty && keep == 0 && len(c.path) == 1 && len(c.pieces) == 0 {
		// The first heading has nothing of its own and another one of its level behind it: it
		// is the title, above all others.
		c.path[0].Level = 0
		keep = 1
	}
	if c.empty && keep < len(c.path) {
		c.leave()
	}
	c.path = append(c.path[:keep:keep], heading)
	c.empty = true
}

// leave ends the current section. If the section has no text, it appends a piece that consists of the section's
// heading.
func (c *cutter) leave() {
	if n := len(c.path); c.empty && n > 0 {
		h := c.path[n-1]
		c.pieces = append(
			c.pieces, Piece{Headings: c.repeat(c.headings(n - 1)), Begin: h.Begin, End: h.End, Page: h.Page},
		)
	}
	c.empty = false
}

// headings returns the texts of the first n headings above the current place, the highest first, each cut to
// longestHeading bytes; nil if n is 0.
func (c *cutter) headings(n int) []string {
	var all []string
	for _, h := range c.path[:n] {
		all = append(all, cutShort(c.d.TextOf(h), longestHeading))
	}
	return all
}

// repeat returns the headings for one more piece, and takes their bytes from c.repeats. It returns nil once that is
// used up, for this piece and all after it.
func (c *cutter) repeat(headings []string) []string {
	for _, h := range headings {
		c.repeats -= len(h)
	}
	if c.repeats < 0 {
		return nil
	}
	return headings
}

// unit is a part of a section that is never cut: a paragraph, sentence, row or line.
type unit struct {
	begin, end int
	page       int
	pageEnd    int // 0 where that is page
	size       int
	lead       string // Piece.Lead for a piece that begins with it, if leadAt lies outside the piece
	leadAt     int    // offset of the lead in the text; -1 if it is not there
	starts     bool   // a block begins with it
}

// section cuts the blocks between two headings into pieces, which it appends to c.pieces with the headings above
// them. A piece gets the lead of its first unit, unless that text is in the piece.
func (c *cutter) section(blocks []Block) {
	c.empty = false
	units := c.units(blocks)
	headings := c.headings(len(c.path))
	from := 0
	for _, to := range c.breaks(units) {
		first, last := units[from], units[to-1]
		p := Piece{Headings: c.repeat(headings), Begin: first.begin, End: last.end, Page: first.page}
		if end := max(last.page, last.pageEnd); end > first.page {
			p.PageEnd = end
		}
		if first.lead != "" && (first.leadAt < 0 || first.leadAt < first.begin) {
			p.Lead = first.lead
		}
		c.pieces = append(c.pieces, p)
		from = to
	}
}

// units splits the blocks of a section into units, in order: rows, sentences of long paragraphs, lines of long
// code. A row has the column names of its table as its lead, and an item of a list the sentence that introduces the
// list.
func (c *cutter) units(blocks []Block) []unit {
	var all []unit
	lead := ""
	leadAt := -1
	for i, b := range blocks {
		text := c.d.TextOf(b)
		switch b.Kind {
		case Row:
			if b.Header != "" {
				at := -1
				if i > 0 && blocks[i-1].Kind == Row && blocks[i-1].Header == "" {
					at = blocks[i-1].Begin
				} else if i > 0 && len(all) > 0 && all[len(all)-1].lead == b.Header {
					at = all[len(all)-1].leadAt
				}
				all = c.fitting(
					all,
					unit{
						begin:   b.Begin,
						end:     b.End,
						page:    b.Page,
						pageEnd: b.PageEnd,
						size:    c.size(text),
						lead:    b.Header,
						leadAt:  at,
						starts:  true,
					},
				)
				continue
			}
			lead = ""
			leadAt = -1
		case Item:
			if i > 0 && blocks[i-1].Kind == Paragraph {
				lead, leadAt = c.introduction(blocks[i-1])
			}
			first := len(all)
			all = c.sentences(all, b)
			for k := first; k < len(all); k++ {
				all[k].lead, all[k].leadAt = lead, leadAt
			}
			continue
		case Code:
			all = c.lines(all, b)
			continue
		}
		all = c.sentences(all, b)
	}
	return all
}

// introduction returns the last sentence of a paragraph that ends with a colon, and its offset in the document's
// text; "" and -1 if there is no colon or the sentence is larger than a quarter of a piece.
func (c *cutter) introduction(b Block) (string, int) {
	text := c.d.TextOf(b)
	if !strings.HasSuffix(text, ":") {
		return "", -1
	}
	spans := granules.Granularity{Sentences: 1}.Split(text, nil)
	last := spans[len(spans)-1]
	if c.size(text[last.Begin:last.End])*4 > c.most {
		return "", -1
	}
	return text[last.Begin:last.End], b.Begin + int(last.Begin)
}

// sentences appends a block to all as one unit, or, if the block is longer than a piece may be, one unit for each of
// its sentences (fitting), and returns all.
func (c *cutter) sentences(all []unit, b Block) []unit {
	text := c.d.TextOf(b)
	if n := c.size(text); n <= c.most {
		return append(
			all, unit{begin: b.Begin, end: b.End, page: b.Page, pageEnd: b.PageEnd, size: n, leadAt: -1, starts: true},
		)
	}
	for i, s := range (granules.Granularity{Sentences: 1}).Split(text, nil) {
		begin, end := b.Begin+int(s.Begin), b.Begin+int(s.End)
		all = c.fitting(
			all,
			unit{
				begin:   begin,
				end:     end,
				page:    b.Page,
				pageEnd: b.PageEnd,
				size:    c.size(c.d.Text[begin:end]),
				leadAt:  -1,
				starts:  i == 0,
			},
		)
	}
	return all
}

// lines appends a block of code to all as one unit, or if it is too long for a piece, a unit for each line. A piece
// rather begins at a line after a blank one.
func (c *cutter) lines(all []unit, b Block) []unit {
	text := c.d.TextOf(b)
	if n := c.size(text); n <= c.most {
		return append(
			all, unit{begin: b.Begin, end: b.End, page: b.Page, pageEnd: b.PageEnd, size: n, leadAt: -1, starts: true},
		)
	}
	at := b.Begin
	for i, line := range strings.SplitAfter(text, "\n") {
		end := at + len(line)
		if trimmed := strings.TrimRight(line, "\n"); strings.TrimSpace(trimmed) != "" {
			blankBefore := i == 0 || strings.HasSuffix(text[:at-b.Begin], "\n\n")
			all = c.fitting(
				all,
				unit{
					begin:   at,
					end:     at + len(trimmed),
					page:    b.Page,
					pageEnd: b.PageEnd,
					size:    c.size(trimmed),
					leadAt:  -1,
					starts:  blankBefore,
				},
			)
		}
		at = end
	}
	return all
}

// fitting appends a unit to all; one that is too long for a piece is cut into parts of about half the usual size,
// of which only the first can start a block.
func (c *cutter) fitting(all []unit, u unit) []unit {
	if u.size <= c.most {
		return append(all, u)
	}
	for u.begin < u.end {
		part := u
		part.end = u.begin + c.fittingPrefix(c.d.Text[u.begin:u.end])
		u.begin = part.end + runOf(c.d.Text[part.end:u.end], unicode.IsSpace)
		part.end = part.begin + len(strings.TrimRightFunc(c.d.Text[part.begin:part.end], unicode.IsSpace))
		part.size = c.size(c.d.Text[part.begin:part.end])
		all = append(all, part)
		u.starts = false
	}
	return all
}

// part returns the largest size of the parts of a sentence that is too long for a piece: half of the usual size.
func (c *cutter) part() int { return max(1, c.usual/2) }

// fittingPrefix returns how many bytes of a text, which is not empty, are its next part: as many as have the size
// part(), but ending after a clause, else after a word, if there is such an end in their second half. It is at
// least one character, whatever the size of that.
func (c *cutter) fittingPrefix(text string) int {
	some := 1
	for c.size(text[:min(some, len(text))]) <= c.part() {
		if some >= len(text) {
			return len(text)
		}
		some *= 2
	}
	n := sort.Search(min(some, len(text)), func(n int) bool { return c.size(text[:n]) > c.part() })
	for n--; n > 0 && !utf8.RuneStart(text[n]); n-- {
	}
	if n <= 0 {
		_, n = utf8.DecodeRuneInString(text)
		return n
	}
	clause := 0
	space := 0
	for at, r := range text[n/2 : n] {
		end := n/2 + at + utf8.RuneLen(r)
		switch {
		case unicode.IsSpace(r):
			space = end
		case unicode.Is(unicode.Terminal_Punctuation, r) && (r > unicode.MaxASCII || spaceAt(text[end:])):
			clause = end
		}
	}
	return cmp.Or(clause, space, n)
}

// breaks groups the units of a section into pieces, and returns the index after the last unit of each piece, in
// order; nil if there are no units. It minimises the sum of the squared differences from the mean size, plus a high
// cost for each piece that begins inside a block. Only a piece of one unit can be larger than c.most.
func (c *cutter) breaks(units []unit) []int {
	total := 0
	for _, u := range units {
		total += u.size
	}
	pieces := max(1, (total+c.usual/2)/c.usual)
	target := float64(total) / float64(pieces)
	inside := float64(c.most) * float64(c.most)
	cost := make([]float64, len(units)+1)
	from := make([]int, len(units)+1)
	for end := 1; end <= len(units); end++ {
		size := 0
		for begin := end - 1; begin >= 0; begin-- {
			size += units[begin].size
			if size > c.most && begin < end-1 {
				break
			}
			off := float64(size) - target
			price := cost[begin] + off*off
			if begin > 0 && !units[begin].starts {
				price += inside
			}
			if begin == end-1 || price < cost[end] {
				cost[end], from[end] = price, begin
			}
		}
	}
	var ends []int
	for at := len(units); at > 0; at = from[at] {
		ends = append(ends, at)
	}
	for i, j := 0, len(ends)-1; i < j; i, j = i+1, j-1 {
		ends[i], ends[j] = ends[j], ends[i]
	}
	return ends
}
