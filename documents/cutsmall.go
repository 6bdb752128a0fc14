package documents

import "slices"

// fewestWords is the least number of words of a passage of a PDF that has a neighbour to be joined with. Labels of
// drawings, lines of forms and single headings are useless as passages.
const fewestWords = 8

// joinSmall joins each piece of fewer than fewestWords words with the next one, and the last with the one before it.
// Pieces are joined only if together they are not too long, and have the same headings or are both that short. The
// joined piece has the headings that both share. A piece with a Lead is not joined to the one before it.
func joinSmall(d *Document, pieces []Piece, usual int, size func(string) int) []Piece {
	most := Longest(usual)
	var out []Piece
	var sizes []int
	for i, p := range pieces {
		n := size(d.Text[p.Begin:p.End])
		k := len(out) - 1
		if k >= 0 && p.Lead == "" && sizes[k]+n <= most &&
			(max(sizes[k], n) < fewestWords || slices.Equal(out[k].Headings, p.Headings)) &&
			(sizes[k] < fewestWords || n < fewestWords && i == len(pieces)-1) {
			joined := out[k]
			joined.End = p.End
			joined.Headings = commonPath(joined.Headings, p.Headings)
			if end := max(p.Page, p.PageEnd, joined.PageEnd); end > joined.Page {
				joined.PageEnd = end
			}
			out[k] = joined
			sizes[k] += n
			continue
		}
		out = append(out, p)
		sizes = append(sizes, n)
	}
	return out
}

// commonPath returns the headings with which both heading paths begin.
func commonPath(a, b []string) []string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n:n]
}
