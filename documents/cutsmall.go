package documents

import (
	"cmp"
	"slices"
)

// fewestWords is the least number of words of a passage of a PDF that has a neighbour to be joined with. Labels of
// drawings, lines of forms and single headings are useless as passages.
const fewestWords = 8

// joinSmall joins each piece of fewer than fewestWords words with the next one, and the last with the one before it.
// Pieces are joined only if together they are not too long, and have the same headings or are both that short. The
// joined piece has the headings that both share; the other headings that stand directly before it become its text. A
// piece with a Lead is not joined to the one before it.
func joinSmall(d *Document, pieces []Piece, usual int, size func(string) int) []Piece {
	most := Longest(usual)
	var out []Piece
	var sizes []int // without headings in the text
	for i, p := range pieces {
		n := size(d.Text[p.Begin:p.End])
		k := len(out) - 1
		if k >= 0 && p.Lead == "" && sizes[k]+n <= most &&
			(max(sizes[k], n) < fewestWords || slices.Equal(out[k].Headings, p.Headings)) &&
			(sizes[k] < fewestWords || n < fewestWords && i == len(pieces)-1) {
			from := 0
			if k > 0 {
				from = out[k-1].End
			}
			joined := joinPieces(d, out[k], p, from)
			if size(d.Text[joined.Begin:joined.End]) <= most {
				out[k] = joined
				sizes[k] += n
				continue
			}
		}
		out = append(out, p)
		sizes = append(sizes, n)
	}
	return out
}

// joinPieces returns a piece with the text of both, the headings between them, and the headings before the first that
// the second does not share, as far as they stand directly before it and behind the byte `from` of the text.
func joinPieces(d *Document, first, second Piece, from int) Piece {
	joined := first
	joined.End = second.End
	joined.Headings = commonPath(first.Headings, second.Headings)
	at, _ := slices.BinarySearchFunc(d.Blocks, first.Begin, func(b Block, begin int) int {
		return cmp.Compare(b.Begin, begin)
	})
	for range len(first.Headings) - len(joined.Headings) {
		at--
		if at < 0 || d.Blocks[at].Kind != Heading || d.Blocks[at].Begin < from {
			break
		}
		joined.Begin = d.Blocks[at].Begin
		joined.Page = d.Blocks[at].Page
	}
	if end := max(first.Page, first.PageEnd, second.Page, second.PageEnd); end > joined.Page {
		joined.PageEnd = end
	}
	return joined
}

// commonPath returns the headings with which both heading paths begin.
func commonPath(a, b []string) []string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n:n]
}
