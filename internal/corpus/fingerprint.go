package corpus

import (
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
)

// Fingerprint returns a number that passages share whose titles and texts are equal but for white
// space and case, and others have in common once in 2^64 pairs. It is never 0.
func (p *Passage) Fingerprint() uint64 {
	form := make([]byte, 0, len(p.Title)+len(p.Text)+2)
	for _, text := range [...]string{p.Title, p.Text} {
		begin := len(form)
		gap := false
		for _, r := range text {
			if unicode.IsSpace(r) {
				gap = true
				continue
			}
			if gap && len(form) > begin {
				form = append(form, ' ')
			}
			gap = false
			form = utf8.AppendRune(form, unicode.ToLower(r))
		}
		form = append(form, 0)
	}
	return max(xxh3.Hash(form), 1)
}
