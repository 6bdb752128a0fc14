package learned

import "slices"

// Languages are those that a model reads, by ISO 639-1 code; nil: all, or that is not known.
type Languages []string

// Reads reports whether a model of these languages reads the one with a code; true for "", a language that is not
// known.
func (l Languages) Reads(code string) bool {
	return l == nil || code == "" || slices.Contains(l, code)
}

// ReadsAny reports whether a model of these languages reads one of those with these codes; true if codes is empty.
func (l Languages) ReadsAny(codes []string) bool {
	return len(codes) == 0 || slices.ContainsFunc(codes, l.Reads)
}
