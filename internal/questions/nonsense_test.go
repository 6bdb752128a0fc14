package questions

import "testing"

func TestNonsense(t *testing.T) {
	d := Nonsense()
	texts := map[string]bool{}
	for _, q := range d.Questions {
		if q.Text == "" || texts[q.Text] || !q.Unanswerable {
			t.Errorf("%+v", q)
		}
		texts[q.Text] = true
	}
	if len(texts) < 100 || d.Name != NonsenseDomain {
		t.Errorf("%d texts of %q", len(texts), d.Name)
	}
}
