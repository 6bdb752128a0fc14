package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/search/reply"
	"example.org/conclave/shipped"
)

// TestCalibratedVerdictKnowsLanguages, with the real encoders: a collection that the expert for many languages searches
// has verdicts by what was fitted to it after a calibration as before, whether it and its late interaction stand
// alone or beside the default experts. Across languages the verdict is doubtful at most.
func TestCalibratedVerdictKnowsLanguages(t *testing.T) {
	if testing.Short() {
		t.Skip("indexes with real encoders")
	}
	library := testenv.Runtime(t)
	bundles := filepath.Dir(testenv.Base(t, "int8"))
	cache := provision.Cache{Root: t.TempDir()} // without the shipped reader, which no question here asks for
	for _, name := range []string{shipped.Base, "late", shipped.Multilingual, shipped.MultilingualLate} {
		if _, err := os.Stat(filepath.Join(bundles, name)); err != nil {
			t.Skip(name + " is not set up: conclave setup --languages")
		}
		err := os.MkdirAll(filepath.Dir(cache.Bundle(name)), 0o755)
		if err := errors.Join(err, os.Symlink(filepath.Join(bundles, name), cache.Bundle(name))); err != nil {
			t.Fatal(err)
		}
	}
	set, err := filepath.Abs(filepath.Join("..", "..", "research", "data", "languages"))
	if err != nil {
		t.Fatal(err)
	}
	const some = 20
	german := linesOf(t, filepath.Join(set, "passages.de.jsonl"))
	english := linesOf(t, filepath.Join(set, "passages.en.jsonl"))
	for name, c := range map[string]struct {
		passages [][]byte
		experts  string
		asked    string // the language of the questions that the collection is calibrated with
		basis    string // of the confidence of German questions after that
	}{
		"German": {german[:some], "multilingual,multilingual-late", "de", reply.BasisCalibrated},
		"mixed": {
			append(english[some:2*some:2*some], german[:some]...), "base,late,multilingual,multilingual-late", "en",
			reply.BasisShipped,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, "conclave.yaml", "cache: "+cache.Root+"\nruntime: "+library+"\n")
			write(t, "p.jsonl", string(bytes.Join(c.passages, nil)))
			var judged []byte
			for _, kind := range []string{"questions", "foreign"} {
				judged = append(judged, bytes.Join(linesOf(t, filepath.Join(set, kind+"."+c.asked+".jsonl")), nil)...)
			}
			write(t, "q.jsonl", string(judged))
			own := passageIDs(t, german[:some])
			if code, _, complaints := conclave(
				t, "index", "--collection", "c", "--index", "flat", "--in", "p.jsonl", "--experts", c.experts,
			); code != cli.ExitOK {
				t.Fatal(complaints)
			}
			for i, basis := range []string{reply.BasisShipped, c.basis} {
				if i > 0 {
					calibrated := []string{"calibrate", "--collection", "c", "--questions", "q.jsonl"}
					if code, _, complaints := conclave(t, calibrated...); code != cli.ExitOK {
						t.Fatal(complaints)
					}
				}
				server := startServer(t)
				found, n := 0, 0
				for _, q := range questionsOf(t, filepath.Join(set, "questions.de.jsonl"), "test") {
					if !own[q.PositiveIDs[0]] {
						continue
					}
					n++
					r := server.first(q.Question)
					if r.Verdict == reply.VerdictFound {
						found++
					}
					if r.Basis != basis || r.Answerable == nil {
						t.Errorf("%s, basis %q: %q of %+v by %q", basis, r.Basis, r.Verdict, r.Judged, q.Question)
					}
				}
				foreign := questionsOf(t, filepath.Join(set, "foreign.de.jsonl"), "test")
				refused := 0
				for _, q := range foreign {
					if server.first(q.Question).Verdict != reply.VerdictFound {
						refused++
					}
				}
				t.Logf("%s: %d of %d found, %d of %d foreign ones not", basis, found, n, refused, len(foreign))
				if found < n*8/10 || refused < len(foreign)/2 {
					t.Errorf("%s: %d of %d found, %d of %d foreign ones not", basis, found, n, refused, len(foreign))
				}
				const french = "Quelle est la différence entre une tempête solaire et une aurore boréale ?"
				if r := server.first(french); r.Verdict == reply.VerdictFound || len(r.Notes) == 0 ||
					!strings.Contains(r.Notes[0], "questions in French") {
					t.Errorf("%s, French: %q, notes %q", basis, r.Verdict, r.Notes)
				}
				if name == "mixed" && i == 0 {
					checkUnreadPassages(t, server, set, own)
					checkLateByLanguage(t, server, set, own)
				}
				server.stop()
			}
		})
	}
}

// checkLateByLanguage asks a German question and an English one of passages in their language: late interaction is that
// of multilingual for the first, and that of base for the second, whose experts all take part otherwise. Most of
// those right first are found. german are the ids of the German passages.
func checkLateByLanguage(t *testing.T, server *served, set string, german map[string]bool) {
	t.Helper()
	for code, want := range map[string]map[string]string{
		"de": {"base": "skipped", "late": "skipped", "multilingual": "ok", "multilingual-late": "ok"},
		"en": {"base": "ok", "late": "ok", "multilingual": "ok", "multilingual-late": "skipped"},
	} {
		found, n := 0, 0
		for _, q := range questionsOf(t, filepath.Join(set, "questions."+code+".jsonl"), "test") {
			if german[q.PositiveIDs[0]] != (code == "de") {
				continue
			}
			r := server.first(q.Question)
			for _, s := range r.Sources {
				if status, isExpert := want[s.Name]; isExpert && string(s.Status) != status {
					t.Errorf("%s is %q by %q", s.Name, s.Status, q.Question)
				}
			}
			if len(r.Results) == 0 || r.Results[0].ID != q.PositiveIDs[0] {
				continue
			}
			n++
			if r.Verdict == reply.VerdictFound {
				found++
			}
		}
		t.Logf("%s: of %d right first passages %d are found", code, n, found)
		if n == 0 || found < n/2 {
			t.Errorf("%s: of %d right first passages %d are found", code, n, found)
		}
	}
}

// checkUnreadPassages asks English questions of German passages in a collection by the default experts and those
// for many languages: what the default experts would score these is an estimate and no hit, and where such a passage is
// first, the verdict is doubtful at most and a note says why. german are the ids of the German passages.
func checkUnreadPassages(t *testing.T, server *served, set string, german map[string]bool) {
	t.Helper()
	first, right, n := 0, 0, 0
	for _, q := range questionsOf(t, filepath.Join(set, "questions.en.jsonl"), "test") {
		if !german[q.PositiveIDs[0]] {
			continue
		}
		n++
		r := server.first(q.Question)
		if len(r.Results) == 0 {
			t.Errorf("nothing is found by %q", q.Question)
			continue
		}
		for _, result := range r.Results {
			for _, c := range result.Contributions {
				english := c.Source == "base" || c.Source == "late"
				if (c.Origin == "estimated") != (english && german[result.ID]) || c.Origin == "estimated" && c.Rank != nil {
					t.Errorf("%s of %s by %q: %+v", c.Source, result.ID, q.Question, c)
				}
			}
		}
		if german[r.Results[0].ID] {
			first++
			if r.Verdict != reply.VerdictDoubtful || r.Confidence != nil || len(r.Notes) == 0 ||
				!strings.Contains(r.Notes[0], "base, late do not read the language of the first passage") {
				t.Errorf("%q of a German passage by %q, notes %q", r.Verdict, q.Question, r.Notes)
			}
		}
		if r.Results[0].ID == q.PositiveIDs[0] {
			right++
		}
	}
	t.Logf("%d of %d English questions of German passages have one first, and %d the right one", first, n, right)
	if right < n/2 {
		t.Errorf("%d of %d English questions of German passages are right first", right, n)
	}
}

// linesOf returns the lines of a file, with their ends.
func linesOf(t *testing.T, path string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(bytes.Lines(text))
}

// halfQuestion is a question of research/data/languages.
type halfQuestion struct {
	Question    string
	PositiveIDs []string `json:"positive_ids"`
	Half        string
}

// questionsOf returns the questions of a file that are in this half.
func questionsOf(t *testing.T, path, half string) (out []halfQuestion) {
	t.Helper()
	for _, line := range linesOf(t, path) {
		var q halfQuestion
		if err := json.Unmarshal(line, &q); err != nil {
			t.Fatal(err)
		}
		if q.Half == half {
			out = append(out, q)
		}
	}
	return out
}

// passageIDs returns the ids of passages, each a line.
func passageIDs(t *testing.T, passages [][]byte) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for _, line := range passages {
		var p struct{ ID string }
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatal(err)
		}
		ids[p.ID] = true
	}
	return ids
}
