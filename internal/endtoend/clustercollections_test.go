package endtoend

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/testing/cluster"
	"example.org/conclave/search/reply"
)

// tell sends a request to a node of a cluster.
func tell(t *testing.T, c *cluster.Cluster, method, path, body string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, method, c.URLs[0]+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%s %s: %v, %s", method, path, err, text)
	}
	http.DefaultClient.CloseIdleConnections()
}

// isRed reports whether a cluster, by a node that is there, misses a shard of an index.
func isRed(c *cluster.Cluster, index string) bool {
	answer, err := http.Get(c.URLs[0] + "/_cluster/health/" + index)
	if err != nil {
		return false
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	return err == nil && bytes.Contains(text, []byte(`"status":"red"`))
}

// listed returns what a server lists, with the state behind each name.
func (p *process) listed() string {
	p.t.Helper()
	var list struct{ Collections []collections.Info }
	p.get(http.MethodGet, "/v1/collections", "", http.StatusOK, &list)
	var out []string
	for _, c := range list.Collections {
		out = append(out, c.Name+" "+c.Status)
	}
	return strings.Join(out, ", ")
}

// foundIn returns the ids that a collection finds.
func (p *process) foundIn(collection, question string) string {
	p.t.Helper()
	var r reply.Response
	p.get(http.MethodPost, "/v1/collections/"+collection+"/search", fmt.Sprintf(`{"question":%q}`, question),
		http.StatusOK, &r)
	var ids []string
	for _, x := range r.Results {
		ids = append(ids, x.ID)
	}
	return strings.Join(ids, " ")
}

// TestClusterCollections: the indexes with a prefix are the collections of two servers in front of a cluster. One
// makes them, the other one writes; a quota holds; what is removed is gone for both, and what is made in its place has
// nothing of it; damaged ones, and one whose shards are away, are named, and the others are served.
func TestClusterCollections(t *testing.T) {
	c := startCluster(t)
	drop := func() { tell(t, c, http.MethodDelete, "/tenants-*?expand_wildcards=all", "") }
	drop()
	t.Cleanup(drop)
	tell(t, c, http.MethodPut, "/tenants-foreign", `{}`)
	tell(t, c, http.MethodPut, "/tenants-wrong", `{"mappings":{"_meta":{"conclave":{"manifest":{"format":99}}}}}`)
	store := c.Address("tenants-") + "*"
	s := newSite(t, "log: {level: error}\nsearch: {timeout: 10s}\ncluster: {shards: 3, replicas: 0}\n", []string{"small"}, "small",
		`{"id":"m","text":"an old lighthouse"}`+"\n"+`{"id":"n","text":"a zebra"}`+"\n")
	s.command("index", "--store", store, "--collection", "manual", "--in", "passages.jsonl", "--experts", "small",
		"--cluster-replicas", "2")
	if out := s.command("search", "--store", store, "--collection", "manual", "lighthouse"); !strings.Contains(out, "lighthouse") {
		t.Errorf("the command finds %s", out)
	}

	if out := s.command("export", "--store", store, "--collection", "manual", "--filter", `{"not":{"field":"x","exists":true}}`); out !=
		`{"id":"m","text":"an old lighthouse"}`+"\n"+`{"id":"n","text":"a zebra"}`+"\n" {
		t.Errorf("exported %s", out)
	}

	one, two := s.serve("", "--store", store), s.serve("", "--store", store)
	if got := two.listed(); got != "manual closed, wrong failed" {
		t.Errorf("%q", got)
	}
	if status, ready, err := one.send(http.MethodGet, "/readyz", ""); err != nil || status != http.StatusOK ||
		!bytes.Contains(ready, []byte("collection wrong")) {
		t.Errorf("%d %v %s", status, err, ready)
	}
	create := `{"name":"a","experts":["small"],"quotas":{"passages":3},"search":{"k":1},"description":"first"}`
	var a collections.Info
	one.get(http.MethodPost, "/v1/collections", create, http.StatusCreated, &a)
	if a.Status != collections.Opened || *a.Passages != 0 || a.Bytes == nil || a.Created == nil ||
		a.Settings.Description != "first" || strings.Join(a.Experts, " ") != "small" {
		t.Errorf("%+v", a)
	}
	for body, want := range map[string]int{
		create: http.StatusConflict, `{"name":"foreign","experts":["small"]}`: http.StatusConflict,
		`{"name":"Capital"}`: http.StatusUnprocessableEntity, `{"name":"a-state"}`: http.StatusUnprocessableEntity,
		`{"name":"flat","experts":["small"],"index":"flat"}`: http.StatusUnprocessableEntity,
	} {
		two.get(http.MethodPost, "/v1/collections", body, want, nil)
	}
	two.get(http.MethodPost, "/v1/search", `{"question":"zebra"}`, http.StatusNotFound, nil) // no default

	for i := range 3 {
		two.get(http.MethodPut, fmt.Sprintf("/v1/collections/a/passages/old%d?refresh=wait", i),
			fmt.Sprintf(`{"text":"a zebra, number%d","tags":["x"]}`, i), http.StatusCreated, nil)
	}
	two.get(http.MethodPut, "/v1/collections/a/passages/more", `{"text":"no room"}`, http.StatusForbidden, nil)
	two.get(http.MethodPut, "/v1/collections/a/passages/old1", `{"text":"a zebra, number1"}`, http.StatusOK, nil)
	if got := one.foundIn("a", "number2"); got != "old2" { // k is 1 there
		t.Errorf("a: %q", got)
	}
	if got := one.foundIn("manual", "lighthouse"); !strings.HasPrefix(got, "m") || strings.Contains(got, "old") {
		t.Errorf("manual: %q", got)
	}
	var together reply.Response
	one.get(http.MethodPost, "/v1/search", `{"question":"zebra","k":9,"collections":["a","manual"],"experts":[]}`,
		http.StatusOK, &together)
	from := map[string]int{}
	for _, r := range together.Results {
		from[r.Collection]++
	}
	if from["a"] != 3 || from["manual"] != 1 {
		t.Errorf("together: %+v", together.Results)
	}
	var jobs struct{ Jobs []struct{ ID string } }
	one.get(http.MethodGet, "/v1/collections/a/jobs", "", http.StatusOK, &jobs)
	one.get(http.MethodPost, "/v1/collections/a/admin/snapshots", "{}", http.StatusNotFound, nil)

	// Removed by one, and made again, while the other one has it open.
	one.get(http.MethodDelete, "/v1/collections/a", "", http.StatusNoContent, nil)
	one.get(http.MethodGet, "/v1/collections/a", "", http.StatusNotFound, nil)
	one.get(http.MethodPost, "/v1/collections", `{"name":"a","experts":["small"]}`, http.StatusCreated, &a)
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		status, answer, err := two.send(http.MethodPost, "/v1/collections/a/search", `{"question":"zebra"}`)
		if err != nil || bytes.Contains(answer, []byte("old")) {
			t.Fatalf("of the removed one: %d %v %s", status, err, answer)
		}
		// Until it has noticed, what it writes is refused.
		put := "/v1/collections/a/passages/new?refresh=wait"
		status, answer, err = two.send(http.MethodPut, put, `{"text":"a new zebra"}`)
		if err == nil && status == http.StatusCreated {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d %v %s", status, err, answer)
		}
	}
	if got := one.foundIn("a", "zebra"); got != "new" {
		t.Errorf("%q", got)
	}
	one.get(http.MethodPost, "/v1/collections", `{"name":"gone","experts":["none"]}`, http.StatusCreated, nil)
	if got := two.foundIn("gone", "zebra"); got != "" {
		t.Errorf("%q", got)
	}
	one.get(http.MethodDelete, "/v1/collections/gone", "", http.StatusNoContent, nil)
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		status, _, err := two.send(http.MethodPost, "/v1/collections/gone/search", `{"question":"zebra"}`)
		if err == nil && status == http.StatusNotFound {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it is there: %d, %v", status, err)
		}
	}
	two.get(http.MethodDelete, "/v1/collections/wrong", "", http.StatusNoContent, nil)

	// A shard of a has no copy any more. A server that starts now names it, and serves the others.
	one.stop()
	if err := c.Kill(1); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !isRed(c, "tenants-a"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the cluster does not notice that a node is gone")
		}
	}
	three := s.serve("", "--store", store)
	three.says(http.MethodGet, "/readyz", http.StatusOK, "store of a", "no copy")
	three.says(http.MethodGet, "/v1/collections/a/readyz", http.StatusServiceUnavailable, "no copy")
	three.says(http.MethodGet, "/v1/collections/manual/readyz", http.StatusOK, `"ready"`)
	if got := three.foundIn("manual", "lighthouse"); !strings.HasPrefix(got, "m") {
		t.Errorf("manual: %q", got)
	}
	if err := c.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		status, answer, err := three.send(http.MethodPost, "/v1/collections/a/search", `{"question":"zebra"}`)
		if err == nil && status == http.StatusOK && bytes.Contains(answer, []byte(`"new"`)) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d %v %s", status, err, answer)
		}
	}
	if got := three.listed(); got != "a open, manual open" {
		t.Errorf("%q", got)
	}
	two.stop()

	// Nothing answers any more: neither an open collection, nor one that is to be opened.
	four := s.serve("", "--store", store)
	for i := range c.URLs {
		if err := c.Kill(i); err != nil {
			t.Fatal(err)
		}
	}
	three.says(http.MethodGet, "/readyz", http.StatusServiceUnavailable, `"store","status":"failed"`)
	three.says(http.MethodGet, "/v1/collections/manual/readyz", http.StatusServiceUnavailable, `"not_ready"`)
	four.says(http.MethodGet, "/readyz", http.StatusServiceUnavailable, `"store","status":"failed"`)
	four.says(http.MethodGet, "/v1/collections/manual/limits", http.StatusServiceUnavailable, `"unavailable"`)
	status, answer, err := four.send(http.MethodPost, "/v1/search", `{"question":"zebra","collections":["a","manual"]}`)
	if err != nil || status != http.StatusServiceUnavailable || !bytes.Contains(answer, []byte(`"unavailable"`)) {
		t.Errorf("together: %d %v %s", status, err, answer)
	}
	if err := c.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	four.says(http.MethodGet, "/readyz", http.StatusOK, `"ready"`)
	four.says(http.MethodGet, "/v1/collections/manual/readyz", http.StatusOK, `"ready"`)
	three.stop()
	four.stop()
}

// says waits until a request has a status and an answer with these words.
func (p *process) says(method, path string, status int, words ...string) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		got, answer, err := p.send(method, path, "")
		right := err == nil && got == status
		for _, w := range words {
			right = right && bytes.Contains(answer, []byte(w))
		}
		if right {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s %s, where %d with %q is expected: %d, %v, %s", method, path, status, words, got, err, answer)
		}
	}
}
