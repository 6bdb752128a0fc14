package evaluation

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/questions"
)

// TestResume: an evaluation that fell over in its second domain does not ask
// the first again, and gives the figures of one that did not.
func TestResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	run := func(s *script, change func(*MeasureOptions, []questions.Domain)) (*Report, error) {
		state, err := OpenState(path)
		if err != nil {
			t.Fatal(err)
		}
		o := MeasureOptions{Methods: scriptedMethods(), Depth: 4, State: state, Reference: "rrf", Timed: 1}
		domains := scriptedDomains()
		if change != nil {
			change(&o, domains)
		}
		return Evaluate(context.Background(), s, domains, o)
	}
	s := scripted()
	s.fail = "q5"
	if _, err := run(s, nil); err == nil || !strings.Contains(err.Error(), "domain y") {
		t.Fatalf("the failure is %v", err)
	}
	s = scripted()
	resumed, err := run(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.compared["q1"]+s.compared["q2"]+s.compared["q3"] != 0 || s.compared["q4"] != 1 || s.compared["q5"] != 1 {
		t.Errorf("asked were %v, want q4 and q5 alone", s.compared)
	}
	whole, err := Evaluate(
		context.Background(),
		scripted(),
		scriptedDomains(),
		MeasureOptions{Methods: scriptedMethods(), Depth: 4, Reference: "rrf"},
	)
	if err != nil {
		t.Fatal(err)
	}
	for i := range resumed.Tables[0].Rows {
		resumed.Tables[0].Rows[i].Latency = nil
	}
	a, err := json.Marshal(resumed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("resumed:\n%s\nin one go:\n%s", a, b)
	}

	// Everything is there now; what changes a figure makes it anew.
	for name, c := range map[string]struct {
		change func(*MeasureOptions, []questions.Domain)
		asked  int
	}{
		"nothing":           {nil, 0},
		"another reference": {func(o *MeasureOptions, _ []questions.Domain) { o.Reference = "x alone" }, 0},
		"another judgement": {func(_ *MeasureOptions, d []questions.Domain) {
			d[1].Questions[0].PositiveIDs = []string{"n1"}
		}, 2},
		"another depth":      {func(o *MeasureOptions, _ []questions.Domain) { o.Depth = 3 }, 5},
		"another generation": {func(o *MeasureOptions, _ []questions.Domain) { o.About.Generation = 7 }, 5},
		"runs to write": {func(o *MeasureOptions, _ []questions.Domain) {
			o.Runs = &Runs{Folder: t.TempDir(),
				Forms: RunForms()}
		}, 5},
	} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s := scripted()
		if _, err := run(s, c.change); err != nil {
			t.Fatal(err)
		}
		if len(s.compared) != c.asked {
			t.Errorf("%s: %d questions were asked again, want %d", name, len(s.compared), c.asked)
		}
		if err := os.WriteFile(path, before, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStateRefuses(t *testing.T) {
	for content, says := range map[string]string{"something else\n": "no state", stateVersion + "\n{\"part\":": "line 2"} {
		path := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenState(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want an error with %q", content, err, says)
		}
	}
}
