package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/search"
)

// TestMustAndMustNot: what words and phrases let through is what reading the texts lets
// through, in one segment and in several; scores are those without the condition, and the
// number of passages that are left is said.
func TestMustAndMustNot(t *testing.T) {
	texts := []string{
		"The ferry to the island leaves at nine.", "To be or not to be, that is the question.", "Ferries are cancelled in a storm.",
		"The island has no ferry and no bridge.", "A bridge to the mainland opens next year.", "The storm, which was long, closed the bridge.",
		"Programs in C++ and C# are welcome.", "Programs in C are welcome.", "Error code 17: the pump stopped.", "Pump 17 has the code of the error.",
		"The mainland has a bridge to the ISLAND  ferry.", "No ferry-boat runs at night; don't wait.",
	}
	has := func(text string, phrase string) bool {
		plain := func(s string) string {
			return " " + strings.Join(
				strings.Fields(
					strings.NewReplacer(".", " ", ",", " ", ";", " ", ":", " ", "-", " ", "'", "").Replace(strings.ToLower(s)),
				),
				" ",
			) + " "
		}
		return strings.Contains(plain(text), plain(phrase))
	}
	for segments := 1; segments <= 3; segments += 2 {
		engine, _ := shopOf(t, texts, segments)
		every := search.Request{
			Question:      "ferry bridge island storm program code question",
			Fusion:        search.Methods{Names: []string{"sum"}},
			K:             20,
			Normalisation: "raw",
			TimeoutMS:     10_000,
		}
		scores := map[string]float64{}
		for _, r := range asked(t, engine, every) {
			scores[r.ID] = r.Score
		}
		for _, c := range []struct {
			must, mustNot []string
			want          func(text string) bool
		}{
			{must: []string{"storm"}, want: func(s string) bool { return has(s, "storm") }},
			{must: []string{"ferry"}, want: func(s string) bool { return has(s, "ferry") || has(s, "ferries") }},
			{must: []string{"ferry", "bridge"}, want: func(s string) bool { return has(s, "ferry") && has(s, "bridge") }},
			{mustNot: []string{"bridge"}, want: func(s string) bool { return !has(s, "bridge") }},
			{must: []string{"island ferry"}, want: func(s string) bool { return has(s, "island ferry") }},
			{must: []string{`"the island"`}, want: func(s string) bool { return has(s, "the island") }},
			{mustNot: []string{"no ferry"}, want: func(s string) bool { return !has(s, "no ferry") }},
			{must: []string{"to be or not to be"}, want: func(s string) bool { return has(s, "to be or not to be") }},
			{must: []string{"Error Code 17"}, want: func(s string) bool { return has(s, "error code 17") }},
			{must: []string{"c++"}, want: func(s string) bool { return has(s, "c++") }},
			{must: []string{"17"}, mustNot: []string{"pump 17"}, want: func(s string) bool { return has(s, "17") && !has(s, "pump 17") }},
			{must: []string{"zeppelin"}, want: func(string) bool { return false }},
			{must: []string{"storm, which"}, want: func(s string) bool { return has(s, "storm which") }},
		} {
			r := every
			r.Must, r.MustNot = c.must, c.mustNot
			response, err := engine.Search(t.Context(), search.Caller{}, r)
			if err != nil || len(response.Degraded) > 0 {
				t.Fatalf("%+v: %v, %+v", c, err, response.Degraded)
			}
			var got, want []string
			for _, x := range response.Results {
				got = append(got, x.ID)
				if x.Score != scores[x.ID] {
					t.Errorf("must %q, must not %q: %s has score %v, and %v without", c.must, c.mustNot, x.ID, x.Score, scores[x.ID])
				}
			}
			for i, text := range texts {
				if c.want(text) {
					want = append(want, fmt.Sprintf("p%03d", i))
				}
			}
			if slices.Sort(got); !slices.Equal(got, want) || *response.Selected != len(want) {
				t.Errorf(
					"%d segments: must %q, must not %q: %q, want %q; %d selected",
					segments,
					c.must,
					c.mustNot,
					got,
					want,
					*response.Selected,
				)
			}
		}
		for _, wrong := range []search.Request{{Question: "x", Must: []string{""}}, {Question: "x", MustNot: []string{"?!"}}, {Question: "x", Must: []string{strings.Repeat("a", 600)}}, {Question: "x", Must: make([]string, 65)}} {
			if _, err := engine.Search(t.Context(), search.Caller{}, wrong); err == nil ||
				!strings.Contains(err.Error(), "must") && !strings.Contains(err.Error(), "word") && !strings.Contains(err.Error(), "letter") &&
					!strings.Contains(err.Error(), "bytes") {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
	}
}
