package documents

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// shape is the placeholder on a slide that is being read.
type shape struct {
	kind Kind
	skip string // "dt", "ftr", "hdr", "sldNum" or "sldImg", which are left out; "" for what is read
}

// slideReader holds the state of reading a slide or its notes.
type slideReader struct {
	w     *writer
	left  *leftOut
	plain Kind // of text outside of titles and lists

	shape    shape
	table    *table // that is being read; nil if none is
	line     raisedLine
	math     formulaReader
	vertical vertical // of the current run
	inText   bool     // characters are text
	level    int      // of the paragraph, from 0
	numbers  autoNumbers
	scheme   string // of the paragraph's number, such as "arabicPeriod"; "" if it has none
	start    int    // the number that the first paragraph of the list has
}

// readSlide writes the text of a slide or of its notes to w, and counts in left what is not read. plain is the kind
// of text outside of titles and lists; Note means that all of it is notes. A nil slide writes nothing; damaged XML
// is an *UnreadableError.
func readSlide(w *writer, left *leftOut, slide []byte, plain Kind) error {
	s := &slideReader{w: w, left: left, plain: plain, shape: shape{kind: plain}}
	return newElements(slide).each(s.startElement, s.characters, s.endElement)
}

// startElement begins an element. It returns true if the element is to be skipped with all that is in it.
func (s *slideReader) startElement(e xml.StartElement) (skip bool) {
	if s.math.reading() {
		return s.math.start(e)
	}
	switch e.Name.Local {
	case "Fallback":
		return true
	case "oMath":
		s.math.start(e)
	case "sp":
		s.shape = shape{kind: s.plain}
	case "txBody":
		s.numbers = autoNumbers{}
	case "ph":
		s.placeholder(value(e, "type"))
	case "pic":
		s.left.pictures++
	case "oleObj":
		s.left.addObject(value(e, "progId"))
	case "pPr":
		if n, err := strconv.Atoi(value(e, "lvl")); err == nil && n >= 0 && n < listLevels {
			s.level = n
		}
	case "buAutoNum":
		s.scheme = value(e, "type")
		s.start = 1
		if n, err := strconv.Atoi(value(e, "startAt")); err == nil && n > 0 && n <= 32767 {
			s.start = n
		}
	case "p":
		s.level, s.scheme = 0, ""
		s.vertical = onLine
	case "r", "fld":
		s.vertical = onLine
	case "rPr":
		s.vertical = raisedBy(value(e, "baseline"))
	case "br":
		s.line.write("\n", onLine)
	case "t":
		s.inText = true
	case "tbl":
		s.table = &table{}
	case "tblPr":
		if s.table != nil {
			s.table.heads = value(e, "firstRow") == "1"
		}
	case "tr":
		if s.table != nil {
			s.table.rows = append(s.table.rows, nil)
		}
	}
	return false
}

// placeholder sets the shape by the type of its placeholder: a title, a list, or what is left out such as a date.
// In notes all text keeps its kind.
func (s *slideReader) placeholder(kind string) {
	switch kind {
	case "title", "ctrTitle":
		if s.plain != Note {
			s.shape.kind = Heading
		}
	case "dt", "ftr", "sldNum", "hdr", "sldImg":
		s.shape.skip = kind
	case "body", "obj", "":
		if s.plain != Note {
			s.shape.kind = Item
		}
	}
}

// raisedBy returns whether letters are raised or lowered, by their shift from the line in thousandths of a percent,
// such as "30000"; onLine if that is 0 or no number.
func raisedBy(shift string) vertical {
	n, err := strconv.Atoi(strings.TrimSuffix(shift, "%"))
	switch {
	case err != nil || n == 0:
		return onLine
	case n > 0:
		return superscript
	}
	return subscript
}

// characters appends characters to the formula or the paragraph if they are text.
func (s *slideReader) characters(text string) {
	switch {
	case s.math.reading():
		s.math.say(text)
	case s.inText:
		s.line.write(text, s.vertical)
	}
}

// endElement handles the end of an element of a slide. It writes the paragraph, formula or table that ends, or adds the
// cell that ends to the current table.
func (s *slideReader) endElement(e xml.EndElement) {
	if s.math.reading() {
		if formula, done := s.math.end(); done {
			s.line.writeFormula(formula)
		}
		return
	}
	switch e.Name.Local {
	case "t":
		s.inText = false
	case "p":
		s.endParagraph()
	case "tc":
		if t := s.table; t != nil && len(t.rows) > 0 {
			t.rows[len(t.rows)-1] = append(t.rows[len(t.rows)-1], clean(t.cell.String()))
			t.cell.Reset()
		}
		s.numbers = autoNumbers{}
	case "tbl":
		if t := s.table; t != nil {
			headed := 0
			if t.heads && len(t.rows) > 1 {
				headed = 1
			}
			addTable(s.w, t.rows, headed)
			s.table = nil
		}
	}
}

// endParagraph writes the collected paragraph, with its number, as a block or into the cell of the table. Dates and
// footers are counted as left out.
func (s *slideReader) endParagraph() {
	text := s.line.take()
	if s.shape.skip != "" {
		if s.shape.skip != "sldNum" && s.shape.skip != "sldImg" {
			s.left.addFooter(text)
		}
		return
	}
	if strings.TrimSpace(text) != "" {
		if number := s.numbers.next(s.scheme, s.level, s.start); number != "" {
			text = number + " " + text
		}
	}
	switch {
	case s.table != nil:
		s.table.cell.WriteString(text + " ")
	case s.shape.kind == Heading:
		s.w.add(Heading, 2, text)
	case s.shape.kind == Item:
		s.w.add(Item, s.level+1, text)
	default:
		s.w.add(s.shape.kind, 0, text)
	}
}

// autoNumbers are the numbers that the paragraphs of a text on a slide have reached, by level.
type autoNumbers [listLevels]struct {
	scheme string
	start  int
	count  int
}

// next advances the numbering of a level by one paragraph and returns the paragraph's number as text, such as "(b)" or
// "3.". It returns "" if scheme is "", as for bullets. The count of a level goes on from its last paragraph; it begins
// again at start if scheme or start differ from those of that paragraph, or if a paragraph of a higher level came
// between.
func (a *autoNumbers) next(scheme string, level, start int) string {
	for below := level + 1; below < listLevels; below++ {
		a[below].scheme = ""
	}
	at := &a[level]
	if at.scheme != scheme || at.start != start {
		at.scheme, at.start = scheme, start
		at.count = start - 1
	}
	at.count++
	if scheme == "" {
		return ""
	}
	format := "decimal"
	for prefix, known := range map[string]string{
		"alphaLc": "lowerColumn", "alphaUc": "upperColumn", "romanLc": "lowerRoman", "romanUc": "upperRoman",
	} {
		if strings.HasPrefix(scheme, prefix) {
			format = known
		}
	}
	number := formatNumber(at.count, format)
	switch {
	case strings.HasSuffix(scheme, "ParenBoth"):
		return "(" + number + ")"
	case strings.HasSuffix(scheme, "ParenR"):
		return number + ")"
	case strings.HasSuffix(scheme, "Plain"):
		return number
	}
	return number + "."
}
