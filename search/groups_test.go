package search

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
)

// inDocuments makes documents of four passages of a stage's passages.
func (s *stage) inDocuments() {
	for i := range s.library.shelf.passages {
		s.library.shelf.passages[i].ID = fmt.Sprintf("b%02d#%d", i/4, i%4+1)
	}
}

// firstsOf groups a ranking by hand: the ids of so many documents in the order of their best passages, each with so
// many of its passages. The first three bytes of an id name the document.
func firstsOf(ranking []reply.Result, documents, passages int) (groups [][]string) {
	at := map[string]int{}
	for _, r := range ranking {
		name := r.ID[:3]
		i, known := at[name]
		if !known {
			i = len(at)
			at[name] = i
			if i < documents {
				groups = append(groups, nil)
			}
		}
		if i < documents && len(groups[i]) < passages {
			groups[i] = append(groups[i], r.ID)
		}
	}
	return groups
}

// TestGroupsAbstain: an answer in groups has the confidence of the plain one, and below
// min_confidence no groups.
func TestGroupsAbstain(t *testing.T) {
	s := newStage("ABC", 60)
	s.inDocuments()
	s.config.Defaults.Chances = &sure{first: .4, any: .7}
	plain := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 60})
	want := firstsOf(plain.Results, 4, 2)
	for least, none := range map[float64]bool{0: false, .4: false, .41: true} {
		r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), MinConfidence: least, K: 4,
			GroupBy: ask.GroupByDocument, GroupSize: 2})
		if r.Confidence == nil || *r.Confidence != .4 || r.Abstained != none || r.Groups == nil || len(r.Results) > 0 {
			t.Fatalf("at %v: %+v", least, r)
		}
		var got [][]string
		for _, g := range r.Groups {
			got = append(got, ids(g.Results))
		}
		if none && len(got) > 0 || !none && !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("at %v: %q, want %q", least, got, want)
		}
	}
}

// TestGroupsAnswered: a reader reads the first passages of the ranking, as without groups, and marks words in those
// that the groups have.
func TestGroupsAnswered(t *testing.T) {
	s, m := withReader()
	s.inDocuments()
	plain := s.ask(t, Request{Question: askedOften, K: 60})
	for _, c := range []struct{ k, size, passages int }{{3, 2, 0}, {2, 1, 0}, {5, 3, 4}} {
		r := s.ask(t, Request{Question: askedOften, K: c.k, GroupBy: ask.GroupByDocument, GroupSize: c.size,
			Answer: wanted(ask.AnswerOptions{Passages: c.passages})})
		if len(r.Groups) != c.k || len(r.Answers) == 0 || len(m.read) == 0 {
			t.Fatalf("%+v: %d groups, %d answers, read %q", c, len(r.Groups), len(r.Answers), m.read)
		}
		var shown []string
		for i, group := range firstsOf(plain.Results, c.k, c.size) {
			if got := ids(r.Groups[i].Results); !slices.Equal(got, group) {
				t.Errorf("%+v: group %d: %q, want %q", c, i+1, got, group)
			}
			shown = append(shown, group...)
		}
		if want := ids(plain.Results)[:cmp.Or(c.passages, 5)]; !slices.Equal(m.read, want) {
			t.Errorf("%+v: read %q, want %q", c, m.read, want)
		}
		for _, a := range r.Answers {
			if c.passages == 0 && !slices.Contains(shown, a.Passage) {
				t.Errorf("%+v: an answer is in %s, which no group shows", c, a.Passage)
			}
		}
	}
}

// TestGroupsOfAField: groups of a field's values have the passages that have these, in the order of their best one,
// with the value; a passage without the field is a group of its own. Pages of groups follow each other.
func TestGroupsOfAField(t *testing.T) {
	s := newStage("ABC", 60)
	values := []any{"red", 7, true, nil, "green"}
	of := map[string]string{} // the value of a passage as JSON; its id without one
	for i := range s.library.shelf.passages {
		p := &s.library.shelf.passages[i]
		v := values[i%len(values)]
		of[p.ID] = p.ID
		if v != nil {
			p.Metadata = map[string]any{"colour": v}
			text, _ := json.Marshal(v)
			of[p.ID] = string(text)
		}
	}
	plain := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 60})
	var names []string
	passages := map[string][]string{}
	for _, r := range plain.Results {
		name := of[r.ID]
		if passages[name] == nil {
			names = append(names, name)
		}
		if len(passages[name]) < 2 {
			passages[name] = append(passages[name], r.ID)
		}
	}
	if len(names) < 6 {
		t.Fatalf("only %d groups", len(names))
	}
	for _, offset := range []int{0, 2} {
		r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 4, Offset: offset,
			GroupBy: "colour", GroupSize: 2})
		if len(r.Groups) != 4 {
			t.Fatalf("%d groups from %d on", len(r.Groups), offset)
		}
		for i, g := range r.Groups {
			name := names[offset+i]
			want := name
			if name == passages[name][0] {
				want = ""
			}
			got := ids(g.Results)
			value := ""
			if g.Value != nil {
				value = g.Value.String()
			}
			if value != want || g.Document != nil || g.Rank != offset+i+1 || !slices.Equal(got, passages[name]) {
				t.Errorf("%d: group %d is %s with %v, want %s with %v", offset, i, value, got, name, passages[name])
			}
		}
	}
}
