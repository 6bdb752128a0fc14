package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// endpointLines are passages that the tiny encoders read whole.
func endpointLines() string {
	var lines strings.Builder
	words := strings.Fields("an old lighthouse river mill salt harbour winter bread letter copper garden")
	for i := range 40 {
		title := ""
		if i%3 == 0 {
			title = fmt.Sprintf(`"title":"The %s",`, words[i%len(words)])
		}
		fmt.Fprintf(&lines, "{\"id\":\"p%d\",%s\"text\":\"%s %s %s %d\"}\n", i, title, words[i%len(words)],
			words[(i*5+2)%len(words)], words[(i*7+3)%len(words)], i)
	}
	return lines.String()
}

// endpointConfig returns the configuration of an expert whose model is that of another process, by one of its
// interfaces.
func endpointConfig(peer *process, kind, more string) string {
	address := peer.url
	question := "{input_type: query}"
	if kind == "openai" {
		address = peer.url + "/v1"
		question = `{model: "away:question"}`
	}
	return fmt.Sprintf(
		"experts: [{name: away, interface: %s, address: %s, model: away, question: %s, passage_tokens: 2000, %s}]\n",
		kind, address, question, more,
	)
}

// withAway returns a site whose collection has the bundles wiki and, with configuration, an expert away. In the other
// case away is a bundle, too: the one that the peer has.
func withAway(t *testing.T, peer *site, configuration string) *site {
	s := newSite(t, configuration, []string{"wiki"}, "none", endpointLines())
	if configuration == "" {
		from := filepath.Join(peer.dir, "experts", "away")
		if err := os.CopyFS(filepath.Join(s.dir, "experts", "away"), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestExpertOfAnotherServer compares an expert behind each interface of another conclave with the same one imported:
// methods, scores and confidences agree within 1e-5. The peer is another process with another encoder.
func TestExpertOfAnotherServer(t *testing.T) {
	peer := newSite(t, "", []string{"wiki", "away"}, "away", `{"id":"x","text":"nothing"}`+"\n")
	served := peer.serve("")
	own := withAway(t, peer, "")
	own.command("index", "--collection", "c", "--add-expert", "wiki")
	own.command("index", "--collection", "c", "--add-expert", "away")
	own.command("index", "--collection", "c", "--add-expert", "away@1")
	imported := own.serve("")
	for _, kind := range []string{"openai", "tei"} {
		t.Run(kind, func(t *testing.T) {
			s := withAway(t, peer, endpointConfig(served, kind, "price: 2, batch: 7"))
			s.command("index", "--collection", "c", "--add-expert", "wiki")
			told := s.command("index", "--collection", "c", "--add-expert", "away")
			s.command("index", "--collection", "c", "--add-expert", "away@1")
			host := strings.TrimPrefix(served.url, "http://")
			for _, want := range []string{"the passages are sent to " + host + " (model away)", "tokens for 0.00"} {
				if !strings.Contains(told, want) {
					t.Errorf("index does not say %q:\n%s", want, told)
				}
			}
			doctor := exec.Command(s.path, "doctor", "--collection", "c") // which misses the shipped bundles
			doctor.Env = environment()
			doctor.Dir = s.dir
			if found, _ := doctor.CombinedOutput(); !strings.Contains(string(found), "sent to "+host) {
				t.Errorf("doctor does not say where texts are sent:\n%s", found)
			}
			remote := s.serve("")
			var experts struct{ Experts []learned.ExpertInfo }
			remote.get(http.MethodGet, "/v1/experts", "", http.StatusOK, &experts)
			for _, x := range experts.Experts {
				if is := x.Endpoint != nil && x.Endpoint.Host == host; is != strings.HasPrefix(x.Name, "away") {
					t.Errorf("expert %s has the endpoint %+v", x.Name, x.Endpoint)
				}
			}
			_, metrics, err := remote.send(http.MethodGet, "/metrics", "")
			if err != nil || !strings.Contains(string(metrics), `conclave_endpoint_requests_total{expert="away"}`) ||
				strings.Contains(string(metrics), `conclave_encoder_rows_total{expert="away"}`) {
				t.Errorf("the metrics do not have the expert, or have it as a bundle: %v", err)
			}
			for _, method := range []string{"auto", "gate", "hybrid", "rrf", "sum"} {
				for _, question := range []string{"salt harbour", "the old mill", "winter bread 7", "copper"} {
					body := fmt.Sprintf(`{"question":%q,"fusion":%q,"k":20,"exact":true,"timeout_ms":10000}`, question, method)
					var a, b reply.Response
					imported.get(http.MethodPost, "/v1/search", body, http.StatusOK, &a)
					remote.get(http.MethodPost, "/v1/search", body, http.StatusOK, &b)
					compareAnswers(t, method+" "+question, a, b)
				}
			}
		})
	}
}

// compareAnswers compares results, scores and contributions within 1e-5.
func compareAnswers(t *testing.T, what string, a, b reply.Response) {
	t.Helper()
	if len(a.Degraded)+len(b.Degraded) > 0 || len(a.Results) != len(b.Results) || len(a.Results) == 0 {
		t.Errorf("%s: %d and %d results, without %v, %v", what, len(a.Results), len(b.Results), a.Degraded, b.Degraded)
		return
	}
	scores := map[string]float64{}
	for _, r := range a.Results {
		scores[r.ID] = r.Score
	}
	for i, r := range b.Results {
		if want, ok := scores[r.ID]; !ok || math.Abs(r.Score-want) > 1e-5 {
			t.Errorf("%s: result %d, %s has the score %v, want %v", what, i, r.ID, r.Score, want)
		}
	}
}

// TestExpertOfAnotherServerIsAway ends the peer while questions are asked, and starts it again with another model.
func TestExpertOfAnotherServerIsAway(t *testing.T) {
	peer := newSite(t, "", []string{"wiki", "away"}, "away", `{"id":"x","text":"nothing"}`+"\n")
	served := peer.serve("")
	s := withAway(t, peer, endpointConfig(served, "openai", "batch: 16"))
	s.command("index", "--collection", "c", "--add-expert", "wiki")
	s.command("index", "--collection", "c", "--add-expert", "away")
	p := s.serve("")
	ask := func(p *process, question string) (r reply.Response) {
		p.get(http.MethodPost, "/v1/search", fmt.Sprintf(`{"question":%q}`, question), http.StatusOK, &r)
		return r
	}
	if r := ask(p, "salt harbour"); len(r.Degraded) > 0 {
		t.Fatalf("%+v", r.Degraded)
	}
	served.kill()
	if r := ask(p, "salt harbour"); len(r.Degraded) > 0 {
		t.Errorf("a question that was asked before: %+v", r.Degraded)
	}
	r := ask(p, "winter bread")
	if len(r.Degraded) != 1 || r.Degraded[0].Source != "away" || !strings.Contains(r.Degraded[0].Reason, "cannot be reached") ||
		len(r.Results) == 0 {
		t.Errorf("%+v, %d results", r.Degraded, len(r.Results))
	}
	p.stop()
	p = s.serve("") // it starts without the peer
	if r := ask(p, "winter bread"); len(r.Degraded) != 1 || len(r.Results) == 0 {
		t.Errorf("%+v, %d results", r.Degraded, len(r.Results))
	}
	p.stop()
	// Another model has the same name.
	other := newSite(t, "", []string{"wiki", "nq", "away"}, "away", `{"id":"x","text":"nothing"}`+"\n").serve("")
	text, err := os.ReadFile(filepath.Join(s.dir, "conclave.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), served.url, other.url, 1))
	if err := os.WriteFile(filepath.Join(s.dir, "conclave.yaml"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	p = s.serve("")
	r = ask(p, "salt harbour")
	if len(r.Degraded) != 1 || !strings.Contains(r.Degraded[0].Reason, "remove expert away") {
		answer, _ := json.Marshal(r.Degraded)
		t.Errorf("%s", answer)
	}
	if !strings.Contains(p.log.String(), "has changed") {
		t.Errorf("the log does not say that the model changed:\n%s", p.log.String())
	}
	for _, word := range []string{"harbour", "winter"} {
		if strings.Contains(p.log.String(), word) {
			t.Errorf("the log has %q:\n%s", word, p.log.String())
		}
	}
}

// TestRerankerOfAnotherServer compares a reranker behind each interface of another conclave with the same one imported.
func TestRerankerOfAnotherServer(t *testing.T) {
	withJudge := func(configuration string) *site {
		s := newSite(t, configuration, []string{"wiki"}, "wiki", endpointLines())
		if _, err := tiny.Write(filepath.Join(s.dir, "experts", "judge"),
			tiny.Expert{Name: "judge", Seed: 5, Reranker: true}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	imported := withJudge("rerankers: [judge]\n").serve("")
	for kind, path := range map[string]string{"cohere": "/v2", "tei": ""} {
		t.Run(kind, func(t *testing.T) {
			configuration := "rerankers: [{name: judge, interface: %s, address: %s, model: judge}]\n"
			s := withJudge(fmt.Sprintf(configuration, kind, imported.url+path))
			remote := s.serve("")
			for _, question := range []string{"salt harbour", "the old mill", "winter bread 7"} {
				body := fmt.Sprintf(`{"question":%q,"rerank":true,"k":20,"exact":true,"timeout_ms":10000}`, question)
				var a, b reply.Response
				imported.get(http.MethodPost, "/v1/search", body, http.StatusOK, &a)
				remote.get(http.MethodPost, "/v1/search", body, http.StatusOK, &b)
				compareAnswers(t, question, a, b)
			}
			if !strings.Contains(remote.log.String(), "sends questions and passages to another server") {
				t.Errorf("the log does not say where texts are sent:\n%s", remote.log.String())
			}
		})
	}
	s := withJudge("rerankers: [{name: judge, address: 'http://127.0.0.1:1/v1', model: judge}]\n")
	away := s.serve("")
	var r reply.Response
	away.get(http.MethodPost, "/v1/search", `{"question":"salt harbour","rerank":true}`, http.StatusOK, &r)
	if len(r.Degraded) != 1 || r.Degraded[0].Source != "judge" || len(r.Results) == 0 {
		t.Errorf("%+v, %d results", r.Degraded, len(r.Results))
	}
}

// hostileModel is a server of an expert's model that first gives vectors, and then whatever it is told to do.
type hostileModel struct {
	*httptest.Server
	mode atomic.Value // string
}

func newHostileModel(t *testing.T) *hostileModel {
	m := &hostileModel{}
	m.mode.Store("")
	end := make(chan struct{})
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		zeros := make([]byte, 64<<10)
		switch mode := m.mode.Load(); mode {
		case "":
			var data []any
			for i, text := range in.Input {
				v := make([]float64, 16)
				for n := range v {
					v[n] = float64((len(text)+3)*(n+7)%11) - 4.5
				}
				data = append(data, map[string]any{"index": i, "embedding": v})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
		case "endless":
			for {
				if _, err := w.Write(zeros); err != nil {
					return
				}
			}
		case "endless refusal":
			w.WriteHeader(http.StatusInternalServerError)
			for {
				if _, err := w.Write(zeros); err != nil {
					return
				}
			}
		case "huge vectors":
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[`+strings.Repeat("1,", 20_000_000)+`1]}]}`)
		case "drip":
			for {
				if _, err := w.Write([]byte(" ")); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
				select {
				case <-end:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		case "silent":
			select {
			case <-end:
			case <-r.Context().Done():
			}
		case "pause":
			w.Header().Set("Retry-After", "99999999999")
			w.WriteHeader(http.StatusTooManyRequests)
		case "headers":
			for i := range 5000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("y", 1000))
			}
		default:
			_, _ = io.WriteString(w, mode.(string))
		}
	}))
	t.Cleanup(func() { close(end); m.CloseClientConnections(); m.Close() })
	return m
}

// TestAttackByEndpoint has the server of an expert's model answer rubbish, without end, slowly or not at all: questions
// are answered without the expert, and the process takes little memory for it.
func TestAttackByEndpoint(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("how much memory a process has is read of Linux")
	}
	model := newHostileModel(t)
	s := newSite(t, "experts: [{name: away, address: "+model.URL+"/v1, model: m, question_timeout: 200ms}]\n",
		[]string{"wiki"}, "none", endpointLines())
	s.command("index", "--collection", "c", "--add-expert", "wiki")
	s.command("index", "--collection", "c", "--add-expert", "away")
	p := s.serve("ulimit -v 8000000;")
	asked := 0
	for _, mode := range []string{"endless", "endless refusal", "huge vectors", "drip", "silent", "pause", "headers", "",
		`{"data":[{"index":0,"embedding":[1e999]}]}`} {
		model.mode.Store(mode)
		before := p.resident()
		for range 6 { // after four the server is left alone
			asked++
			var r reply.Response
			p.get(http.MethodPost, "/v1/search", fmt.Sprintf(`{"question":"salt harbour %d"}`, asked), http.StatusOK, &r)
			if len(r.Results) == 0 {
				t.Errorf("%.20q: no results", mode)
			}
			if mode != "" && (len(r.Degraded) != 1 || r.Degraded[0].Source != "away") {
				t.Errorf("%.20q: %+v", mode, r.Degraded)
			}
		}
		if now := p.resident(); now-before > 100<<20 {
			t.Errorf("%.20q: the process took %d MiB", mode, (now-before)>>20)
		}
		p.stop()
		model.mode.Store("")
		p = s.serve("ulimit -v 8000000;") // with another circuit breaker
	}
}

// TestIndexingGoesOnWithItsVectors kills a command that encodes by another server: the next one asks for what is
// missing alone; a batch (256 passages), the sample of the estimate and the probes are asked for twice at most.
func TestIndexingGoesOnWithItsVectors(t *testing.T) {
	model := newHostileModel(t)
	var answered atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var in struct{ Input []string }
		if err != nil || json.Unmarshal(body, &in) != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.Config.Handler.ServeHTTP(w, r)
		answered.Add(int64(len(in.Input)))
		time.Sleep(10 * time.Millisecond) // so that the command is killed in the middle
	}))
	t.Cleanup(front.Close)
	const passages = 2000
	var lines strings.Builder
	for i := range passages {
		fmt.Fprintf(&lines, "{\"id\":\"p%d\",\"text\":\"passage %d\"}\n", i, i*7919)
	}
	s := newSite(t, "experts: [{name: away, address: "+front.URL+"/v1, model: m, batch: 32, concurrency: 2}]\n", nil, "none",
		lines.String())
	first := exec.Command(s.path, "index", "--collection", "c", "--add-expert", "away")
	first.Env = environment()
	first.Dir = s.dir
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for answered.Load() < passages/2 {
		time.Sleep(time.Millisecond)
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	before := answered.Load()
	s.command("index", "--collection", "c", "--add-expert", "away")
	const twice = 256 + 2*32 + 3*3 // the command opens the collection at its end, too
	if n := answered.Load(); before >= passages || n > passages+twice {
		t.Errorf("%d texts were sent before the end and %d in all, of %d passages", before, n, passages)
	}
	if left, err := filepath.Glob(filepath.Join(s.dir, "cache", "unfinished", "*")); err != nil || len(left) > 0 {
		t.Errorf("left in the cache: %v, %v", left, err)
	}
}
