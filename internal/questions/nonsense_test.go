package questions

import "testing"

// TestBrought: what the project brings are different texts, none of which is said to have an answer.
func TestBrought(t *testing.T) {
	for name, d := range map[string]Domain{NonsenseDomain: Nonsense(), SubjectsDomain: Subjects()} {
		texts := map[string]bool{}
		for _, q := range d.Questions {
			if q.Text == "" || texts[q.Text] || !q.Unanswerable {
				t.Errorf("%+v", q)
			}
			texts[q.Text] = true
		}
		if len(texts) < 100 || d.Name != name {
			t.Errorf("%d texts of %q", len(texts), d.Name)
		}
	}
}
