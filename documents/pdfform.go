package documents

import "slices"

// besideFields puts what form fields hold, the lines from n on, behind what stands to the left of
// them: PDFium reads it last.
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
