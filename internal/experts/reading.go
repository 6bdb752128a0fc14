package experts

import (
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/languages"
	"example.org/conclave/models"
	"example.org/conclave/shipped"
)

// LeavesToOthers reports whether the expert leaves a passage to others, so that it makes no vector of it: the passage's
// language is known (corpus.LanguageOf), the expert says which ones it reads, without this, and a dense expert of the
// collection says that it reads it. A sparse expert leaves out none.
func (e *Expert) LeavesToOthers(p corpus.Passage) bool {
	if len(e.elsewhere) == 0 || e.Sparse() {
		return false
	}
	code := corpus.LanguageOf(&p)
	if code == "" || languages.NameOf(code) == code || languagesOf(e.encoderManifest()).Reads(code) {
		return false
	}
	return slices.ContainsFunc(e.elsewhere, func(m *models.Manifest) bool {
		return m.Vectors.Languages != nil && languagesOf(m).Reads(code)
	})
}

// noteReaders sets, for each opened expert, which other dense experts read passages of the collection
// (Expert.elsewhere): those that are opened with it, are in the set, or are stored.
func (x *Set) noteReaders(opened []*Expert) {
	known := map[string]*models.Manifest{} // of dense experts, by name
	for _, e := range slices.Concat(x.Searched, x.Silent, opened) {
		known[e.name] = nil
		if !e.Late() && !e.Sparse() {
			known[e.name] = e.encoderManifest()
		}
	}
	for _, s := range x.stored {
		if _, ok := known[s.Name]; ok || s.Owner != "" {
			continue
		}
		if folder, err := shipped.Folder(x.config, x.cache, s.Name); err == nil { // else whoever opens it says so
			if b, err := models.Peek(folder); err == nil && b.Manifest.Kind == models.KindDense {
				known[s.Name] = &b.Manifest
			}
		}
	}
	for _, e := range opened {
		for name, m := range known {
			if name != e.name && m != nil && m.Vectors != nil {
				e.elsewhere = append(e.elsewhere, m)
			}
		}
	}
}
