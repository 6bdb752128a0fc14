package documents

import "slices"

// fewestWords is how many words a passage of a PDF has at least, where another one is beside it: labels of
// drawings, lines of forms and headings alone are found by nobody, and stand in the way.
const fewestWords = 8

// joinSmall joins pieces of fewer than fewestWords with the next one, or the last with the one before it, where
// together they are no longer than a piece may be, and both stand below the same headings or are that short. The
// joined piece stands below the headings that both have. A piece that repeats a header or an introduction before
// its text is joined with none before it.
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

// commonPath returns the headings that two paths begin with.
func commonPath(a, b []string) []string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n:n]
}
