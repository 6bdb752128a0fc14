package documents

import "slices"

// besideFields returns the lines with the values of form fields, which are lines[n:], in reading order: each directly
// after the line to its left at the same height, whose height and letters it gets. A value without such a line stays at
// the end.
func besideFields(lines []pdfLine, n int) []pdfLine {
	out := slices.Clone(lines[:min(n, len(lines))])
	for _, field := range lines[len(out):] {
		best := -1
		for i, line := range out {
			middle := (field.Bottom + field.Top) / 2
			if line.Bottom < middle && middle < line.Top && line.Left < field.Left &&
				(best < 0 || line.Left >= out[best].Left) {
				best = i
			}
		}
		if best < 0 || field.Size == 0 {
			out = append(out, field)
			continue
		}
		field.Top, field.Bottom, field.Size, field.Bold = out[best].Top, out[best].Bottom, out[best].Size, out[best].Bold
		out = slices.Insert(out, best+1, field)
	}
	return out
}
