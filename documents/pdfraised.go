package documents

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// How letters are told to be raised or lowered, as shares of the height of the letters on the line before them.
const (
	smallLetters  = 0.87 // raised and lowered letters are at most so high
	leastLetters  = 0.45 // and at least so high: beside an initial over several lines all letters are smaller
	raisedLetters = 0.15 // so much above the line letters are raised
	loweredBelow  = 0.02 // so much below the line letters are lowered
	adjoining     = 0.15 // letters with less space between them are of one word
)

// words sets the words of a line with their places, writes raised letters as exponents, as in "10^3" and "x^n", and
// removes the words outside of the visible part of the page, from the text too. units is the line's text in UTF-16,
// and at the index of its first letter on the page. It changes nothing but the line's left edge if PDFium does not
// know the place of a word.
func (b *lineBoxes) words(l *pdfLine, at int, units []uint16) {
	var words []pdfWord
	word := raisedLine{} // the last one, as long as letters may be added to it
	var base, end pdfBox
	endWord := func() {
		if n := len(words); n > 0 {
			words[n-1].Text = word.take()
		}
	}
	changed := false
	for i := 0; i < len(units); i++ {
		if blankUnit(units[i]) {
			continue
		}
		begin := i
		for i < len(units) && !blankUnit(units[i]) {
			i++
		}
		left, known := b.at(at + begin)
		right, also := b.at(at + i - 1)
		if !known || !also {
			return
		}
		if !b.shows(left, right) {
			changed = true
			continue
		}
		n := len(words)
		if changed && n == 0 { // the words before are not seen
			l.Left, l.Bottom, l.Top = left.Left, left.Bottom, left.Top
			l.Size = left.height()
		}
		// PDFium parts letters that are not on the line from the others.
		if n > 0 && math.Abs(left.Left-end.Right) < adjoining*base.height() &&
			(place(left, base) != onLine || place(end, base) != onLine) {
			words[n-1].Right = right.Right
			base = b.raise(&word, at+begin, units[begin:i], base)
			changed = true
		} else {
			endWord()
			words = append(words, pdfWord{Left: left.Left, Right: right.Right})
			base = right
			if b.mayRaise(at+begin, units[begin:i], left, right) {
				base = b.raise(&word, at+begin, units[begin:i], left)
				changed = true
			} else {
				word.write(string(utf16.Decode(units[begin:i])), onLine)
			}
		}
		end = right
	}
	if len(words) == 0 {
		if changed {
			l.Text = ""
		}
		return
	}
	if changed {
		l.Right = end.Right
	}
	l.tail = tailOf(&word)
	if l.tail.at == subscript {
		l.Bottom = max(l.Bottom, base.Bottom)
	}
	endWord()
	l.Words = words
	if changed {
		l.Text = joinWords(words)
	}
}

// tailOf returns the raised or lowered letters at the end of a line's text, and the text before them; the zero pdfTail
// if the line ends otherwise.
func tailOf(line *raisedLine) (tail pdfTail) {
	if line.raised.Len() > 0 {
		tail = pdfTail{line.text.String(), line.raised.String(), line.by}
	}
	return tail
}

// place returns whether a letter is raised or lowered, by its box and that of a letter on the line before it. Letters
// that are not clearly smaller than that one are onLine.
func place(letter, base pdfBox) vertical {
	h := base.height()
	switch {
	case letter.height() >= smallLetters*h || letter.height() < leastLetters*h:
		return onLine
	case letter.Bottom > base.Bottom+raisedLetters*h:
		return superscript
	case letter.Bottom < base.Bottom-loweredBelow*h:
		return subscript
	}
	return onLine
}

// mayRaise reports whether each letter of a word has to be looked at: its last letter is not on the line of the first,
// or it has a digit or sign behind a letter, digit or bracket. at is the index of the first letter; left and right are
// the boxes of the first and the last.
func (b *lineBoxes) mayRaise(at int, units []uint16, left, right pdfBox) bool {
	last := len(units) - 1
	for last > 0 && !unicode.IsLetter(rune(units[last])) && !unicode.IsDigit(rune(units[last])) {
		last--
	}
	if last < len(units)-1 && last > 0 {
		box, known := b.at(at + last)
		if known && place(box, left) != onLine {
			return true
		}
	}
	if place(right, left) != onLine {
		return true
	}
	if !slices.ContainsFunc(units, func(u uint16) bool { return !isDigit(rune(u)) }) {
		return false
	}
	for i := 1; i < last; i++ {
		r, before := rune(units[i]), rune(units[i-1])
		sign := strings.ContainsRune("-−+", r)
		if !isDigit(r) && !sign || !unicode.IsLetter(before) && !isDigit(before) && before != ')' {
			continue
		}
		box, known := b.at(at + i)
		if known && place(box, left) != onLine {
			return true
		}
	}
	return false
}

// raise appends the letters of a word to a line, raised and lowered ones as such. at is the index of the first letter,
// and base the box of the letter on the line before it. It returns the box of the last letter on the line.
func (b *lineBoxes) raise(line *raisedLine, at int, units []uint16, base pdfBox) (last pdfBox) {
	for i := 0; i < len(units); {
		n := 1
		if utf16.IsSurrogate(rune(units[i])) && i+1 < len(units) {
			n = 2
		}
		where := onLine
		if box, known := b.at(at + i); known {
			where = place(box, base)
			if where == onLine && box.height() >= smallLetters*base.height() {
				base = box
			}
		}
		line.write(string(utf16.Decode(units[i:i+n])), where)
		i += n
	}
	return base
}

// joinSplit returns the lines in their order, with those joined that PDFium splits at raised or lowered letters. It
// writes the result into the memory of lines.
func joinSplit(lines []pdfLine) []pdfLine {
	joined := lines[:0]
	for _, l := range lines {
		n := len(joined)
		if n == 0 || l.Size == 0 || joined[n-1].Size == 0 {
			joined = append(joined, l)
			continue
		}
		last := &joined[n-1]
		base := pdfBox{Bottom: last.Bottom, Top: last.Bottom + last.Size}
		gap := (l.Left - last.Right) / last.Size
		where := place(pdfBox{Bottom: l.Bottom, Top: l.Bottom + l.Size}, base)
		overlaps := l.Bottom < base.Top && l.Bottom+l.Size > base.Bottom
		goesOn := math.Abs(l.Bottom-last.Bottom) < 0.1*last.Size && math.Abs(l.Size-last.Size) < 0.1*last.Size
		switch {
		case where != onLine && overlaps && math.Abs(gap) < adjoining,
			last.tail.at != onLine && goesOn && gap > -adjoining && gap < 1:
			last.join(l, where)
		default:
			joined = append(joined, l)
		}
	}
	return joined
}

// join appends next, which stands to the right of l, to l and its words. where says whether its first word is
// raised, lowered or on the line. The words are joined to one unless there is a space between them.
func (l *pdfLine) join(next pdfLine, where vertical) {
	if l.Words == nil {
		l.Words = []pdfWord{{l.Text, l.Left, l.Right}}
	}
	if next.Words == nil {
		next.Words = []pdfWord{{next.Text, next.Left, next.Right}}
	}
	if next.Left-l.Right > adjoining*l.Size {
		l.Words = append(l.Words, next.Words...)
		l.tail = next.tail
	} else {
		word := raisedLine{}
		last := &l.Words[len(l.Words)-1]
		if l.tail.at != onLine {
			word.write(l.tail.before, onLine)
			word.write(l.tail.letters, l.tail.at)
		} else {
			word.write(last.Text, onLine)
		}
		word.write(next.Words[0].Text, where)
		l.tail = next.tail
		if len(next.Words) == 1 {
			l.tail = tailOf(&word)
		}
		last.Text = word.take()
		last.Right = next.Words[0].Right
		l.Words = append(l.Words, next.Words[1:]...)
	}
	l.Right = next.Right
	l.Text = joinWords(l.Words)
}
