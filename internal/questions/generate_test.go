package questions

import (
	"reflect"
	"strings"
	"testing"
)

// TestGenerate: what is asked of a text is in it, and what is not there is in none.
func TestGenerate(t *testing.T) {
	texts := []Text{
		{"a", "Valves", "The brass valve QX-4417/B was drawn by Olga Marek, who also keeps extension 5512 and the stores."},
		{
			"b",
			"Gears",
			"A nylon gear 90-AC-31 replaces what Piet Janssen made in the harbour workshop years ago, at 7.25 a piece.",
		},
		{"c", "", "Release v3.9.14 repairs calendars; ask Ruth Okafor about migration of older appointments."},
	}
	got := Generate(texts)
	if !reflect.DeepEqual(got, Generate(texts)) {
		t.Error("the same texts gave other questions")
	}
	all := strings.ToLower(
		texts[0].Title + " " + texts[0].Text + " " + texts[1].Title + " " + texts[1].Text + " " + texts[2].Text,
	)
	kinds := map[bool]int{}
	for _, q := range got.Questions {
		kinds[q.Unanswerable]++
		if !strings.Contains(q.Text, q.Drawn) {
			t.Errorf("%q does not ask for %q", q.Text, q.Drawn)
		}
		source := ""
		for _, x := range texts {
			if strings.HasPrefix(q.ID, x.ID+"/") {
				source = strings.ToLower(x.Title + " " + x.Text)
			}
		}
		inSource := true
		for _, w := range strings.Fields(strings.ToLower(q.Drawn)) {
			inSource = inSource && strings.Contains(source, w)
			if q.Unanswerable && strings.ContainsAny(w, "0123456789") && strings.Contains(all, w) {
				t.Errorf("%q is there", q.Drawn)
			}
		}
		if inSource == q.Unanswerable {
			t.Errorf("%q of %q: in it %v", q.Drawn, source, inSource)
		}
	}
	if kinds[true] < 3 || kinds[false] < 6 {
		t.Errorf("%d questions without an answer and %d with one", kinds[true], kinds[false])
	}
	if none := Generate(nil); len(none.Questions) > 0 {
		t.Errorf("%d questions of nothing", len(none.Questions))
	}
}
