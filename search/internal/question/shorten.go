package question

import (
	"cmp"
	"slices"
	"strings"

	"example.org/conclave/internal/granules"
)

// leastParts divides the bytes that Shorten may return: no part among which it chooses has more than this share.
const leastParts = 16

// Shorten returns a text as it is if it has at most so many bytes, otherwise its most question-like sentences
// (priorOf) that fit, in their order, with spaces between. A sentence longer than bytes/leastParts is cut first, so
// only pieces of it may be left. The result may be empty if bytes is less than leastParts.
func Shorten(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	var parts []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, span := range (granules.Granularity{Sentences: 1}).Split(line, nil) {
			parts = append(parts, cutByBytes(line[span.Begin:span.End], bytes/leastParts)...)
		}
	}
	type part struct {
		at    int
		prior float64
	}
	order := make([]part, len(parts))
	for i, text := range parts {
		order[i] = part{i, priorOf(text, i, len(parts)-1-i)}
	}
	slices.SortStableFunc(order, func(a, b part) int { return cmp.Compare(b.prior, a.prior) })
	left := bytes
	chosen := order[:0]
	for _, p := range order {
		if need := len(parts[p.at]) + 1; need <= left {
			chosen = append(chosen, p)
			left -= need
		}
	}
	slices.SortFunc(chosen, func(a, b part) int { return cmp.Compare(a.at, b.at) })
	var out []string
	for _, p := range chosen {
		out = append(out, parts[p.at])
	}
	return strings.Join(out, " ")
}

// cutByBytes cuts a sentence into parts of at most so many bytes: at spaces, and a longer word anywhere.
func cutByBytes(sentence string, bytes int) (parts []string) {
	if len(sentence) <= bytes {
		return []string{sentence}
	}
	part := ""
	for _, word := range strings.Fields(sentence) {
		for len(word) > bytes {
			head := strings.ToValidUTF8(word[:bytes], "")
			if head == "" {
				return parts // no rune is so short
			}
			parts = append(parts, head)
			word = word[len(head):]
		}
		if part != "" && len(part)+1+len(word) > bytes {
			parts = append(parts, part)
			part = ""
		}
		if part != "" {
			part += " "
		}
		part += word
	}
	return append(parts, part)
}
