package endtoend

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// TestClusterExpertOfAnotherServer indexes into a cluster with an expert whose model is that of another process: every
// question is answered as by the same collection in a folder, a passage that is put is encoded there too, and when the
// model's process ends, or another model has its name, the other sources answer.
func TestClusterExpertOfAnotherServer(t *testing.T) {
	c := startCluster(t)
	peer := newSite(t, "", []string{"wiki", "away"}, "away", `{"id":"x","text":"nothing"}`+"\n")
	served := peer.serve("")
	s := newSite(t, endpointConfig(served, "openai", "batch: 16"), []string{"wiki"}, "wiki", endpointLines())
	s.command("index", "--collection", "c", "--add-expert", "away")
	store := storeAt(t, c, "endpoint")
	host := strings.TrimPrefix(served.url, "http://")
	told := s.command("index", "--store", store, "--in", "passages.jsonl", "--experts", "wiki,away")
	if want := "the passages are sent to " + host + " (model away)"; !strings.Contains(told, want) {
		t.Errorf("index does not say %q:\n%s", want, told)
	}
	folder := s.serve("", "--collection", "c")
	clustered := s.serve("", "--store", store)
	var x learned.ExpertInfo
	clustered.get(http.MethodGet, "/v1/experts/away", "", http.StatusOK, &x)
	if x.Endpoint == nil || x.Endpoint.Host != host || x.Passages != 40 {
		t.Errorf("%+v, endpoint %+v", x, x.Endpoint)
	}
	for _, p := range []*process{folder, clustered} {
		p.get(http.MethodPut, "/v1/passages/new?refresh=wait", `{"text":"salt harbour bread"}`, http.StatusCreated, nil)
	}
	ask := func(p *process, question, more string) (r reply.Response) {
		body := fmt.Sprintf(`{"question":%q,"k":41,"exact":true,"timeout_ms":10000%s}`, question, more)
		p.get(http.MethodPost, "/v1/search", body, http.StatusOK, &r)
		return r
	}
	for _, question := range []string{"salt harbour bread", "the old mill", "winter bread 7", "copper"} {
		for _, more := range []string{
			`,"fusion":"sum","bm25":false,"experts":["away"]`, `,"fusion":"sum","bm25":false`, `,"fusion":"gate"`,
		} {
			compareAnswers(t, question+more, ask(folder, question, more), ask(clustered, question, more))
		}
	}
	first := ask(clustered, "salt harbour bread", `,"fusion":"sum","bm25":false,"experts":["away"]`)
	if len(first.Results) == 0 || first.Results[0].ID != "new" {
		t.Errorf("the passage that was put is not the first: %+v", first.Results)
	}
	served.kill()
	r := ask(clustered, "lighthouse letter", "")
	if len(r.Degraded) != 1 || r.Degraded[0].Source != "away" || len(r.Results) == 0 {
		t.Errorf("without the model's process: %+v, %d results", r.Degraded, len(r.Results))
	}
	clustered.stop()
	other := newSite(t, "", []string{"wiki", "nq", "away"}, "away", `{"id":"x","text":"nothing"}`+"\n").serve("")
	path := filepath.Join(s.dir, "conclave.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.ReplaceAll(string(text), served.url, other.url))
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	clustered = s.serve("", "--store", store)
	r = ask(clustered, "copper", "")
	if len(r.Degraded) != 1 || !strings.Contains(r.Degraded[0].Reason, "remove expert away") || len(r.Results) == 0 {
		t.Errorf("with another model: %+v, %d results", r.Degraded, len(r.Results))
	}
}
