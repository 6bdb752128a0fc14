package opensearch

import (
	"encoding/json"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/search/storage"
)

// TestWordClauses, worked by hand: a word asks for its stem, a phrase for its stems and their
// pairs too, and what must not be there is refused as a whole. Stop words ask for nothing until
// passages were compared.
func TestWordClauses(t *testing.T) {
	with := bm25.Params{Phrases: true, Analysis: forms.Lucene}
	without := bm25.Params{Analysis: forms.Lucene}
	for _, c := range []struct {
		f    storage.Filter
		w    bm25.Params
		want string
	}{
		{storage.Filter{}, with, "null"},
		{storage.Filter{Must: []string{"Ferries"}}, with, `[{"term":{"words":"ferri"}}]`},
		{storage.Filter{Must: []string{"the lakes are deep"}}, with, `[{"term":{"words":"lake"}},{"term":{"words":"deep"}},{"term":{"pairs":"lake+deep"}}]`},
		{storage.Filter{Must: []string{"deep lakes"}}, without, `[{"term":{"words":"deep"}},{"term":{"words":"lake"}}]`},
		{storage.Filter{MustNot: []string{"deep lakes"}}, with, `[{"bool":{"must_not":{"bool":{"filter":[{"term":{"words":"deep"}},{"term":{"words":"lake"}},{"term":{"pairs":"deep+lake"}}]}}}}]`},
		{storage.Filter{Must: []string{"to be or not to be"}, MustNot: []string{"the"}}, with, "null"},
	} {
		got, err := json.Marshal(wordingClauses(filterWordings(c.f, c.w)))
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %s, %v, want %s", c.f, got, err, c.want)
		}
	}
}
