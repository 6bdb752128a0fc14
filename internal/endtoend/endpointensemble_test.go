package endtoend

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// endpointQuestions are questions about the passages of endpointLines, with the passage that each is made of.
func endpointQuestions() string {
	var lines strings.Builder
	words := strings.Fields("an old lighthouse river mill salt harbour winter bread letter copper garden")
	for i := range 36 {
		fmt.Fprintf(&lines, "{\"id\":\"q%d\",\"question\":\"%s %s\",\"positive_ids\":[\"p%d\"]}\n", i,
			words[i%len(words)], words[(i*5+2)%len(words)], i)
	}
	return lines.String()
}

// confidenceOf returns the confidence of an expert in an answer; NaN if the answer has none of it.
func confidenceOf(r reply.Response, expert string) float64 {
	for _, source := range r.Sources {
		if source.Name == expert && source.Confidence != nil {
			return *source.Confidence
		}
	}
	return math.NaN()
}

// TestEnsembleOfAnotherServersExpert compares an expert behind an interface that is configured with an ensemble with
// the same expert imported, whose bundle has that ensemble: both are calibrated with the same questions, and muf, which
// needs ensembles, gives the same results, scores and confidences. An ensemble for vectors of another length is
// refused.
func TestEnsembleOfAnotherServersExpert(t *testing.T) {
	peer := newSite(t, "", []string{"wiki", "away"}, "away", `{"id":"x","text":"nothing"}`+"\n")
	served := peer.serve("")
	own := withAway(t, peer, "")
	bundle := filepath.Join(own.dir, "experts", "away")
	if err := os.RemoveAll(bundle); err != nil {
		t.Fatal(err)
	}
	// The seed is that of newSite, so that the vectors are the peer's.
	if _, err := tiny.Write(bundle, tiny.Expert{Name: "away", Seed: 2, EnsembleMembers: 5}); err != nil {
		t.Fatal(err)
	}
	ensemble := filepath.Join(bundle, "ensemble.onnx")
	remote := withAway(t, peer, endpointConfig(served, "openai", "ensemble: "+ensemble))
	processes := map[*site]*process{}
	for _, s := range []*site{own, remote} {
		s.command("index", "--collection", "c", "--add-expert", "away")
		if err := os.WriteFile(filepath.Join(s.dir, "q.jsonl"), []byte(endpointQuestions()), 0o644); err != nil {
			t.Fatal(err)
		}
		s.command("calibrate", "--collection", "c", "--questions", "q.jsonl")
		p := s.serve("")
		processes[s] = p
		var x learned.ExpertInfo
		p.get(http.MethodGet, "/v1/experts/away", "", http.StatusOK, &x)
		if x.EnsembleMembers != 5 || x.Calibration == nil {
			t.Errorf("the expert has %d members and the calibration %+v", x.EnsembleMembers, x.Calibration)
		}
	}
	for _, method := range []string{"muf", "muf-sparse", "hybrid"} {
		for _, question := range []string{"salt harbour", "the old mill", "winter bread 7", "copper"} {
			body := fmt.Sprintf(
				`{"question":%q,"fusion":%q,"k":20,"exact":true,"explain":true,"timeout_ms":10000}`, question, method,
			)
			var a, b reply.Response
			processes[own].get(http.MethodPost, "/v1/search", body, http.StatusOK, &a)
			processes[remote].get(http.MethodPost, "/v1/search", body, http.StatusOK, &b)
			compareAnswers(t, method+" "+question, a, b)
			imported, away := confidenceOf(a, "away"), confidenceOf(b, "away")
			if method != "hybrid" && (math.IsNaN(imported) || math.Abs(imported-away) > 1e-5) {
				t.Errorf("%s %s: the expert's confidence is %v imported and %v at the endpoint", method, question,
					imported, away)
			}
		}
	}
	wide := filepath.Join(t.TempDir(), "wide")
	if _, err := tiny.Write(wide, tiny.Expert{Name: "wide", Seed: 2, EnsembleMembers: 5, Projection: 48}); err != nil {
		t.Fatal(err)
	}
	s := withAway(t, peer, endpointConfig(served, "openai", "ensemble: "+filepath.Join(wide, "ensemble.onnx")))
	cmd := exec.Command(s.path, "index", "--collection", "c", "--add-expert", "away")
	cmd.Env = environment()
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is an ensemble for vectors of") {
		t.Errorf("an ensemble for other vectors: %v\n%s", err, out)
	}
}
