package corpus

import (
	"maps"
	"slices"

	"example.org/conclave/internal/languages"
)

// LanguageKey is the key of metadata with the code of a passage's language (ISO 639-1), in collections in several.
const LanguageKey = "lang"

// LanguageOf returns what the metadata of a passage says of its language; "" if it says nothing.
func LanguageOf(p *Passage) string {
	code, _ := p.Metadata[LanguageKey].(string)
	return code
}

// WithLanguage returns a passage of a collection in several languages, whose codes are given, with its own language in
// its metadata (LanguageKey). It returns p itself if the metadata have that key already, whatever its value, if the
// language is not clear or none of these, and if codes are fewer than two. The metadata of p are not changed.
func WithLanguage(p Passage, codes []string) Passage {
	if _, has := p.Metadata[LanguageKey]; has || len(codes) < 2 {
		return p
	}
	code := languages.OfPassage(p.Title, p.Text)
	if !slices.Contains(codes, code) {
		return p
	}
	p.Metadata = maps.Clone(p.Metadata)
	if p.Metadata == nil {
		p.Metadata = map[string]any{}
	}
	p.Metadata[LanguageKey] = code
	return p
}
