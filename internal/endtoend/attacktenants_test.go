package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.org/conclave/internal/collections"
)

// tenantKeys are an owner's key, one that is for the collection c alone, and one that sees the passages of
// one group alone. Their texts are "owner", "key" and "member": printf %s member | sha256sum.
const tenantKeys = `auth:
  keys:
    - {name: owner, sha256: 4c1029697ee358715d3a14a2add817c4b01651440de808371f78165ac90dc581, scopes: [admin]}
    - {name: bound, sha256: 2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683, scopes: [search], collections: [c]}
    - name: member
      sha256: e31ab643c44f7a0ec824b59d1194d60dac334200d845e61d2d289daa0f087ea4
      scopes: [search, embed]
      filter: {field: group, eq: open}
`

const memberKey = "member"

// TestAttackCache: that somebody asked a question leaves nothing behind which another key could measure. Of the
// questions that a key asks, those alone are answered from the cache that it asked before.
func TestAttackCache(t *testing.T) {
	s := newSite(t, "log: {level: error}\n"+tenantKeys, []string{"small"}, "small", `{"id":"first","text":"an old lighthouse","metadata":{"group":"open"}}`+"\n")
	p := s.serve("")
	counter := regexp.MustCompile(`(?m)^conclave_encoder_cache_hits_total\{expert="small"\} (\d+)$`)
	for _, step := range []struct{ key, question, hits string }{
		{searcherKey, "where is the lighthouse", "0"}, {ownerKey, "where is the lighthouse", "0"},
		{memberKey, "where is the lighthouse", "0"}, {searcherKey, "where is the lighthouse", "1"},
		{memberKey, "where is the lighthouse", "2"}, {memberKey, "who keeps it", "2"}, {ownerKey, "who keeps it", "2"},
	} {
		status, answer, err := p.ask(http.MethodPost, "/v1/search", step.key, fmt.Sprintf(`{"question":%q}`, step.question))
		if err != nil || status != http.StatusOK {
			t.Fatalf("%v: %d %.300s %v", step, status, answer, err)
		}
		_, metrics, err := p.ask(http.MethodGet, "/metrics", ownerKey, "")
		if found := counter.FindSubmatch(metrics); err != nil || found == nil || string(found[1]) != step.hits {
			t.Errorf("%v: hits %q, %v", step, found, err)
		}
	}
	for key, want := range map[string]bool{searcherKey: true, memberKey: false} {
		_, metrics, err := p.ask(http.MethodGet, "/metrics", key, "")
		if err != nil || strings.Contains(string(metrics), "encoder") || strings.Contains(string(metrics), "http") ||
			strings.Contains(string(metrics), "go_") || strings.Contains(string(metrics), "conclave_passages 1\n") != want {
			t.Errorf("%s is shown\n%.3000s%v", key, metrics, err)
		}
	}
	status, ready, err := p.ask(http.MethodGet, "/readyz", "", "")
	if err != nil || status != http.StatusOK || strings.Contains(string(ready), "passages") ||
		strings.Contains(string(ready), "generation") {
		t.Errorf("/readyz without a key: %d %s %v", status, ready, err)
	}
	p.stop()
}

// groupedLines returns passages of the group "open", and where asked those of another group between them.
func groupedLines(others bool) string {
	var lines strings.Builder
	add := func(id, title, text, group string, year int, language string) {
		line, _ := json.Marshal(map[string]any{"id": id, "title": title, "text": text, "tags": []string{group},
			"metadata": map[string]any{"group": group, "year": year, "language": language, "kind": group + "kind"}})
		lines.Write(append(line, '\n'))
	}
	for i := range 60 {
		add(fmt.Sprintf("a/%d", i), fmt.Sprint("Harbour ", i),
			fmt.Sprintf("The lighthouse number %d of the old harbour was lit in %d by a keeper.", i, 1800+i), "open", 1800+i, "en")
		if !others {
			continue
		}
		add(fmt.Sprintf("b/%d", i), fmt.Sprint("Geheim ", i), fmt.Sprintf(
			"Der zebrastern Nummer %d wurde im Jahr %d von einem Wärter der lighthouse gesehen.", i, 1900+i), "closed", 1900+i, "de")
	}
	return lines.String()
}

// filteredRequests ask in every way for what a key with a filter may not see.
var filteredRequests = []struct{ method, path, body string }{
	{"POST", "/v1/search", `{"question":"lighthouse keeper","k":20,"facets":[{"field":"group"},{"field":"year","size":100},{"field":"language"},{"field":"kind"}]}`},
	{"POST", "/v1/search", `{"question":"zebrastern"}`},
	{"POST", "/v1/search", `{"question":"zebrastern lighthouse","explain":true,"k":2}`},
	{"POST", "/v1/search", `{"question":"zebrasterm lighthoose"}`},
	{"POST", "/v1/search", `{"question":"lighthouse keeper","fields":["title","text","tags","metadata","highlights"],"around":3,"group_by":"document"}`},
	{"POST", "/v1/search", `{"question":"Nummer 12 im Jahr","must":["zebrastern"]}`},
	{"POST", "/v1/search", `{"question":"lighthouse","must_not":["zebrastern"],"k":30}`},
	{"POST", "/v1/search", `{"question":"\"old harbour\" lighthouse","exact":true,"filter":{"not":{"field":"group","eq":"open"}}}`},
	{"POST", "/v1/search", `{"question":"lighthouse","filter":{"field":"year","gte":1900}}`},
	{"POST", "/v1/search", `{"question":"Chosen lighthouse?","k":30,"facets":[{"field":"group"}]}`},
	{"POST", "/v1/search", `{"question":"chosen lighthouse","k":3,"explain":true,"group_by":"year"}`},
	{"GET", "/v1/suggest?q=geh", ""}, {"GET", "/v1/suggest?q=harbuor", ""}, {"GET", "/v1/suggest?q=h&limit=50", ""},
	{"POST", "/v1/search/batch", `{"searches":[{"question":"zebrastern"},{"question":"lighthouse"}]}`},
	{"GET", "/v1/passages?limit=50", ""}, {"GET", "/v1/passages?after=a/59", ""}, {"GET", "/v1/passages?after=b/3&limit=1", ""},
	{"GET", "/v1/passages/b/3", ""}, {"GET", "/v1/documents?q=b", ""}, {"GET", "/v1/documents?prefix=b", ""},
	{"GET", "/v1/collections", ""}, {"GET", "/v1/collections/c", ""}, {"GET", "/v1/experts", ""}, {"GET", "/v1/experts/small", ""},
	{"GET", "/v1/limits", ""}, {"GET", "/metrics", ""}, {"GET", "/readyz", ""}, {"GET", "/v1/vector_stores/c", ""}, {"GET", "/v1/files", ""},
	{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_experts","arguments":{}}}`},
	{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"zebrastern lighthouse"}}}`},
	{"POST", "/v1/vector_stores/c/search", `{"query":"zebrastern lighthouse","max_num_results":20}`},
	{"POST", "/retrieval", `{"knowledge_id":"c","query":"zebrastern","retrieval_setting":{"top_k":20}}`},
}

// measured are what is measured anew for each request, and what the statistics of words of all passages have a part
// in, which docs/operations.md says is the same for all keys.
var measured = regexp.MustCompile(
	`"(request_id|took_ms|generation|score|confidence|created|created_at|instance|chance|verdict|contributions|weight|doc_frequency|idf)":\s*("[^"]*"|[-+.0-9eE]+|\[[^\]]*\]|null)`)

// patient are the settings of a server that is asked on a busy machine.
const patient = "log: {level: error}\nsearch: {timeout: 20s}\nlimits: {timeout: 30s}\n"

// TestAttackFilters: a key with a filter is answered from a collection as from one that has the passages alone which it
// may see, but for scores.
func TestAttackFilters(t *testing.T) {
	answers := map[bool][]string{}
	for _, others := range []bool{true, false} {
		s := newSite(t, patient+"read_only: true\n"+tenantKeys, []string{"small"}, "small", groupedLines(others))
		s.choose()
		p := s.serve("")
		answers[others] = p.filteredAnswers()
		p.stop()
	}
	compareFiltered(t, answers[true], answers[false])
}

// choose puts results first and hides some, of both groups, in the settings of the site's collection.
func (s *site) choose() {
	s.t.Helper()
	path := filepath.Join(s.dir, "c", collections.SettingsFile)
	chosen := "overrides: [{questions: [chosen lighthouse], pin: [b/3, a/7, b/4], hide: [b/5, a/9]}]\n"
	if err := os.WriteFile(path, []byte(chosen), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// TestClusterBoundKeys: in a cluster a key with a filter is answered as in a folder (TestAttackFilters), and a
// key of one collection finds no other one.
func TestClusterBoundKeys(t *testing.T) {
	c := startCluster(t)
	answers := map[bool][]string{}
	for _, others := range []bool{true, false} {
		s := newSite(t, patient+"read_only: true\n"+tenantKeys, []string{"small"}, "small", groupedLines(others))
		address := storeAt(t, c, "c")
		s.command("export", "--collection", "c", "--to", address)
		tell(t, c, http.MethodGet, "/_cluster/health/c?wait_for_status=green&timeout=60s", "") // /readyz is compared
		p := s.serve("", "--store", address)
		answers[others] = p.filteredAnswers()
		p.stop()
		tell(t, c, http.MethodDelete, "/c", "")
	}
	compareFiltered(t, answers[true], answers[false])

	s := newSite(t, patient+tenantKeys, []string{"small"}, "small", groupedLines(false))
	for _, name := range []string{"bound-c", "bound-d"} {
		s.command("export", "--collection", "c", "--to", storeAt(t, c, name))
	}
	p := s.serve("", "--store", c.Address("bound-")+"*")
	for _, r := range []struct {
		path string
		want int
	}{
		{"/v1/collections/c/search", http.StatusOK}, {"/v1/collections/d/search", http.StatusNotFound},
		{"/v1/collections/nobody/search", http.StatusNotFound},
	} {
		status, answer, err := p.ask(http.MethodPost, r.path, searcherKey, `{"question":"lighthouse"}`)
		if err != nil || status != r.want {
			t.Errorf("%s: %d %v %.300s", r.path, status, err, answer)
		}
	}
	status, answer, err := p.ask(http.MethodGet, "/v1/collections", searcherKey, "")
	if err != nil || status != http.StatusOK || !strings.Contains(string(answer), `"c"`) || strings.Contains(string(answer), `"d"`) {
		t.Errorf("%d %v %s", status, err, answer)
	}
	status, answer, err = p.ask(http.MethodPost, "/v1/search", searcherKey, `{"question":"lighthouse","collections":["c","d"]}`)
	if err != nil || status == http.StatusOK {
		t.Errorf("together: %d %v %.300s", status, err, answer)
	}
	p.stop()
}

// filteredAnswers returns what the key with a filter is answered to filteredRequests, without what is measured anew.
func (p *process) filteredAnswers() (answers []string) {
	p.t.Helper()
	for _, r := range filteredRequests {
		status, answer, err := p.askWhole(r.method, r.path, memberKey, r.body)
		if err != nil {
			p.t.Fatal(r, err)
		}
		answer = bytes.ReplaceAll(answer, []byte(p.url), nil)
		text := fmt.Sprintf("%d %s", status, measured.ReplaceAllString(string(answer), `"$1":0`))
		for _, secret := range []string{"closed", "1937", "Geheim", `"de"`, "Wärter"} {
			if strings.Contains(text, secret) && !strings.Contains(r.body, secret) {
				p.t.Errorf("%v tells %q: %.1000s", r, secret, text)
			}
		}
		answers = append(answers, text)
	}
	return answers
}

// askWhole asks with a key until the answer leaves nothing out for want of time, as the first ones of a busy cluster
// may, twenty times at most. It returns the last answer.
func (p *process) askWhole(method, path, key, body string) (status int, answer []byte, err error) {
	for range 20 {
		status, answer, err = p.ask(method, path, key, body,
			"Accept", "application/json, text/event-stream, application/x-ndjson, text/plain")
		if err != nil || !bytes.Contains(answer, []byte("did not answer in time")) {
			break
		}
	}
	return status, answer, err
}

// compareFiltered compares the answers to filteredRequests of a collection with others' passages, and of one without.
func compareFiltered(t *testing.T, among, alone []string) {
	t.Helper()
	for i, r := range filteredRequests {
		if whole, part := among[i], alone[i]; whole != part {
			at := 0
			for at < min(len(whole), len(part)) && whole[at] == part[at] {
				at++
			}
			at = max(at-80, 0)
			t.Errorf("%v: among others, from byte %d\n%.400s\nand alone\n%.400s", r, at, whole[at:], part[at:])
		}
	}
	for i, text := range among {
		if refused := filteredRequests[i].path == "/v1/passages/b/3"; !strings.HasPrefix(text, "200 ") && !refused {
			t.Errorf("%v: %.300s", filteredRequests[i], text)
		}
	}
}

// TestAttackRoutes: whatever is served has a demand, by which make attack measures what it can cost others:
// BenchmarkCallers asks for no route that is not there, and for each that is.
func TestAttackRoutes(t *testing.T) {
	config := "log: {level: error}\ndocs: {open: true}\n" + attackKeys
	s := newSite(t, config, []string{"small"}, "small", manyDocuments(3))
	p := s.serve("")
	p.key = ownerKey
	for _, d := range p.costlyDemands() {
		status, answer, err := p.ask(d.method, d.path, ownerKey, d.body, "Content-Type", d.contentType,
			"Accept", "application/json, text/event-stream, application/x-ndjson, text/html, text/plain, */*;q=0.1")
		if err == nil && (status == http.StatusMethodNotAllowed || status == http.StatusUnauthorized ||
			strings.Contains(string(answer), `"code":"no_such_path"`)) {
			t.Errorf("%s: %d %.300s", d.name, status, answer)
		}
	}
	p.stop()
}
