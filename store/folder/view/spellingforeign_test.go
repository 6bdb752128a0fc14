package view

import (
	"testing"

	"example.org/conclave/search"
)

// TestNoCorrectionsInOtherLanguages: in a German collection a right German word that no passage has stays, although a
// word of a passage is near; an English question is corrected, unless the expert is not one for English.
func TestNoCorrectionsInOtherLanguages(t *testing.T) {
	_, dir := shopOf(t, []string{
		"Die feuchte Wäsche hängt im Garten hinter dem Haus, und am Abend wird sie wieder abgenommen.",
		"Der Laden in der Stadt öffnet um neun Uhr und schließt am Abend um achtzehn Uhr, auch im Winter.",
		"Die alte Mühle am See mahlt das Mehl für den Markt, und der Müller verkauft es dort selbst.",
		"Wer einen Gutschein hat, kann ihn innerhalb von drei Jahren in jedem Laden der Stadt einlösen.",
	}, 1)
	english, many := engineIn(t, dir, "en"), engineIn(t, dir)
	for _, c := range []struct {
		engine    *search.Engine
		asked     string
		corrected bool
	}{
		{english, "welche Frucht wächst in dem Garten", false}, // Frucht is not feuchte
		{english, "wer macht Rast an der Mühle", false},
		{english, "where is the Gutschien of the shop", true},
		{many, "where is the Gutschien of the shop", false},
	} {
		r, err := c.engine.Search(t.Context(), search.Caller{}, search.Request{
			Question: c.asked, Fusion: search.Methods{Names: []string{"sum"}}, TimeoutMS: 10_000,
		})
		if err != nil {
			t.Fatal(err)
		}
		if (len(r.Corrected) > 0) != c.corrected {
			t.Errorf("%q: corrected %+v", c.asked, r.Corrected)
		}
	}
}
