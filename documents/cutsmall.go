package documents

import (
	"cmp"
	"slices"
	"strings"
)

// A piece of a PDF is short if it has fewer than fewestWords words between white space and its size is below shortSize.
// The second keeps texts in scripts without spaces. Labels of drawings, lines of forms and single headings are useless
// as passages.
const (
	fewestWords = 8
	shortSize   = 2 * fewestWords
)

// joinSmall joins each short piece with the piece before or after it: with the one with which it loses fewer headings
// (pieceJoiner.join), else with the one after it. A piece stays short if it can be joined with neither.
func joinSmall(d *Document, pieces []Piece, usual int, size func(string) int) []Piece {
	j := pieceJoiner{d: d, most: Longest(usual), size: size}
	var out []Piece
	for i := 0; i < len(pieces); {
		p := pieces[i]
		i++
		for j.isShort(p) {
			end := 0 // of the piece before both that are joined
			k := len(out) - 1
			var before, after Piece
			worseBefore, worseAfter := notJoined, notJoined
			if k >= 0 {
				end = out[k].End
				from := 0
				if k > 0 {
					from = out[k-1].End
				}
				before, worseBefore = j.join(out[k], p, from)
			}
			if i < len(pieces) {
				after, worseAfter = j.join(p, pieces[i], end)
			}
			if worseBefore == notJoined && worseAfter == notJoined {
				break
			}
			if worseBefore < worseAfter {
				p = before
				out = out[:k]
			} else {
				p = after
				i++
			}
		}
		out = append(out, p)
	}
	return out
}

// pieceJoiner joins pieces of a document whose size together is at most `most`.
type pieceJoiner struct {
	d    *Document
	most int
	size func(string) int
}

// isShort reports whether a piece, with its lead, has fewer words than fewestWords, a size below shortSize and
// fewer than shortBytes bytes.
func (j *pieceJoiner) isShort(p Piece) bool {
	text := p.Text(j.d)
	return len(text) < shortBytes && len(strings.Fields(text)) < fewestWords && j.size(text) < shortSize
}

// shortBytes bounds the texts that isShort looks at.
const shortBytes = 1 << 10

// notJoined is the loss of pieces that cannot be joined.
const notJoined = int(^uint(0) >> 1)

// join returns a piece with the text of two neighbours and the headings that both have. The other headings of either
// are in its text. A short first piece above the headings of the second, such as a title page, takes all of these. loss
// is the number of headings that the joined piece has lost; it is notJoined if
//
//  1. a heading that only the first has does not stand directly before it, behind the byte `from` of the text;
//  2. the second begins with a Lead that the first does not have, or the first has a Lead and headings that would come
//     between the Lead and its text;
//  3. the joined text is too long.
func (j *pieceJoiner) join(first, second Piece, from int) (joined Piece, loss int) {
	joined = first
	joined.End = second.End
	joined.Headings = commonPath(first.Headings, second.Headings)
	if len(joined.Headings) == len(first.Headings) && j.isShort(first) && !j.hasHeading(first) {
		joined.Headings = second.Headings
	}
	at, _ := slices.BinarySearchFunc(j.d.Blocks, first.Begin, func(b Block, begin int) int {
		return cmp.Compare(b.Begin, begin)
	})
	for range max(0, len(first.Headings)-len(joined.Headings)) {
		at--
		if at < 0 || j.d.Blocks[at].Kind != Heading || j.d.Blocks[at].Begin < from {
			return Piece{}, notJoined
		}
		joined.Begin = j.d.Blocks[at].Begin
		joined.Page = j.d.Blocks[at].Page
	}
	if joined.Begin < first.Begin && first.Lead != "" ||
		second.Lead != "" && !strings.Contains(first.Text(j.d), second.Lead) ||
		j.size(j.d.Text[joined.Begin:joined.End]) > j.most {
		return Piece{}, notJoined
	}
	joined.PageEnd = 0
	if end := max(first.Page, first.PageEnd, second.Page, second.PageEnd); end > joined.Page {
		joined.PageEnd = end
	}
	lost := func(piece Piece) int { return max(0, len(piece.Headings)-len(joined.Headings)) }
	return joined, lost(first) + lost(second)
}

// hasHeading reports whether a piece has a heading within its text, as one that was joined has.
func (j *pieceJoiner) hasHeading(p Piece) bool {
	return slices.ContainsFunc(j.d.Blocks, func(b Block) bool {
		return b.Kind == Heading && b.Begin >= p.Begin && b.Begin < p.End
	})
}

// commonPath returns the headings with which both heading paths begin, as a part of a.
func commonPath(a, b []string) []string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n:n]
}
