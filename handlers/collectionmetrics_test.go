package handlers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCollectionMetrics: requests are counted by the collections that they were answered from, of which so many have
// a label and the others one together, whatever anybody asks for; who is removed frees one.
func TestCollectionMetrics(t *testing.T) {
	engine := testEngine(t, engineOptions{})
	metrics := NewMetrics()
	if err := metrics.ShowCollections(2); err != nil {
		t.Fatal(err)
	}
	of := map[string]Engine{"main": engine}
	for i := range 9 {
		of[fmt.Sprint("c", i)] = engine
	}
	api := newAPI(t, Options{Name: "main", Collections: shelfOf(of), Metrics: metrics, Limits: engine.Limits()})
	api.MarkStarted()
	search := func(name string, want int) {
		t.Helper()
		path := "/v1/collections/" + name + "/search"
		if status, text := asking(t, api, "POST", path, `{"question":"bees"}`, ""); status != want {
			t.Errorf("%d %s", status, text)
		}
	}
	counted := func() (out []string) {
		t.Helper()
		_, text := asking(t, api, "GET", "/metrics", "", "")
		lines := regexp.MustCompile(`(?m)^conclave_collection_requests_total\{(.*)\} (.*)$`)
		for _, m := range lines.FindAllStringSubmatch(text, -1) {
			out = append(out, m[1]+" "+m[2])
		}
		slices.Sort(out)
		if n := strings.Count(text, "\nconclave_collection_request_seconds_total{"); n > 3 {
			t.Errorf("%d series of seconds", n)
		}
		return out
	}
	search("nobody", 404)
	for range 3 {
		for i := range 9 {
			search(fmt.Sprint("c", i), 200)
		}
	}
	search("unspeakable", 404)
	if status, text := asking(t, api, "POST", "/v1/collections/c1/search", `{"question":7}`, ""); status != 422 {
		t.Errorf("%d %s", status, text)
	}
	want := []string{
		`collection="(others)",status="2xx" 21`, `collection="c0",status="2xx" 3`, `collection="c1",status="2xx" 3`,
		`collection="c1",status="4xx" 1`,
	}
	if got := counted(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	metrics.ForgetCollection("c1")
	search("c7", 200)
	search("c8", 200)
	want = []string{
		`collection="(others)",status="2xx" 22`, `collection="c0",status="2xx" 3`, `collection="c7",status="2xx" 1`,
	}
	if got := counted(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
