package endtoend

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestClusterSettings: synonyms and types of fields that are put while a node is killed, stopped or comes back are
// either refused or kept: both servers, and one that starts later, have what was acknowledged last, and find by it.
func TestClusterSettings(t *testing.T) {
	c := startCluster(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	store := storeAt(t, c, "settings-restart")
	s := newSite(t, "log: {level: error}\n", []string{"small"}, "small",
		`{"id":"a","text":"an old lighthouse","metadata":{"price":1}}`+"\n"+`{"id":"b","text":"a zebra"}`+"\n")
	s.command("export", "--collection", "c", "--to", store)
	one, two := s.serve("", "--store", store), s.serve("", "--store", store)
	var current []string // what was acknowledged last, and what was put since without an answer that says so
	acknowledged := 0
	put := func(p *process, word string) {
		t.Helper()
		status, answer, err := p.send(http.MethodPut, "/v1/admin/settings",
			fmt.Sprintf(`{"synonyms":[{"from":[%q],"to":["lighthouse"]}],"fields":{"price":"number"}}`, word))
		switch {
		case err == nil && status == http.StatusOK:
			current = []string{word}
			acknowledged++
		case err == nil && status == http.StatusServiceUnavailable:
			current = append(current, word)
		default:
			t.Errorf("%s: %d %v %.300s", word, status, err, answer)
		}
	}
	holds := func(what string, servers ...*process) {
		t.Helper()
		for _, p := range servers {
			p.eventually(fmt.Sprintf("%s: by none of %q as a synonym", what, current), func() bool {
				return slices.ContainsFunc(current, func(word string) bool {
					status, answer, err := p.send(http.MethodPost, "/v1/search", fmt.Sprintf(
						`{"question":%q,"experts":[],"timeout_ms":10000,"filter":{"field":"price","gte":1}}`, word))
					return err == nil && status == http.StatusOK && strings.Contains(string(answer), `"id":"a"`)
				})
			})
		}
	}
	put(one, "pharos0")
	holds("whole", one, two)
	for i, word := range []string{"killed", "stopped"} {
		if err := map[string]func(int) error{"killed": c.Kill, "stopped": c.Stop}[word](i); err != nil {
			t.Fatal(err)
		}
		put(one, fmt.Sprint("pharos", word, i))
		put(two, fmt.Sprint("beacon", word, i))
		if err := c.Mend(t.Context()); err != nil {
			t.Fatal(err)
		}
		holds(word, one, two)
		put(two, fmt.Sprint("fanal", i)) // all are there
		holds("mended", one, two)
	}
	if acknowledged < 3 {
		t.Errorf("%d were acknowledged, of which 3 were put while all nodes were there", acknowledged)
	}
	three := s.serve("", "--store", store)
	holds("a server that starts", three)
	for _, p := range []*process{one, two, three} {
		p.stop()
	}
}
