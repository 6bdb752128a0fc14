package endtoend

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/conclave/search/reply"
)

// TestConnectionFlood: a server that may open 120 files is opened a hundred idle
// connections, a third of them anew before each request, while passages are written,
// searched for, merged and deleted. The collection has its files, so nothing of it is lost.
func TestConnectionFlood(t *testing.T) {
	s := newSite(
		t,
		"ingest: {flush_after: 1ms}\nlog: {level: error}\n",
		[]string{"small"},
		"small",
		`{"id":"first","text":"an old lighthouse"}`+"\n",
	)
	p := s.serve("ulimit -n 120;")
	address := strings.TrimPrefix(p.url, "http://")
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	flood := func() { // a third of the connections anew, a hundred open
		for range 33 {
			if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
				open = append(open, c)
			}
			if len(open) > 100 {
				_ = open[0].Close()
				open = open[1:]
			}
		}
	}
	for range 3 {
		flood()
	}
	// A connection that is given up is no answer: the request is sent again.
	ask := func(method, path, body string) (int, []byte) {
		t.Helper()
		for range 20 {
			flood()
			if status, answer, err := p.send(method, path, body); err == nil {
				return status, answer
			}
		}
		t.Fatalf("%s %s is not answered\n%s", method, path, p.log.String())
		return 0, nil
	}
	const n = 24
	for i := range n {
		path := fmt.Sprintf("/v1/passages/f%d", i)
		if status, answer := ask(http.MethodPut, path+"?refresh=wait",
			fmt.Sprintf(`{"text":"zebra number%d"}`, i)); status != http.StatusCreated &&
			status != http.StatusOK {
			t.Fatalf("%d: %d %s", i, status, answer)
		}
		if i%4 != 0 {
			continue
		}
		if status, answer := ask(http.MethodDelete, path+"?refresh=wait", ""); status != http.StatusOK &&
			status != http.StatusNotFound {
			t.Fatalf("%d: %d %s", i, status, answer)
		}
		if status, answer := ask(http.MethodGet, path, ""); status != http.StatusNotFound {
			t.Errorf("%d is there after it was deleted: %d %s", i, status, answer)
		}
	}
	var found reply.Response
	p.get(http.MethodPost, "/v1/search", `{"question":"zebra","k":100,"experts":[]}`, http.StatusOK, &found)
	ids := map[string]bool{}
	for _, r := range found.Results {
		if ids[r.ID] {
			t.Errorf("%s is found twice", r.ID)
		}
		ids[r.ID] = true
	}
	if len(ids) != n-n/4 {
		t.Errorf("%d passages of %d are found", len(ids), n-n/4)
	}
	status, metrics, err := p.send(http.MethodGet, "/metrics", "")
	if err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	for _, name := range []string{"conclave_build_info{", fmt.Sprintf("conclave_passages %d\n", n-n/4+1), "conclave_segments ", "conclave_collection_bytes ", "conclave_generation ", "conclave_jobs{", "conclave_connections_limit 45\n"} {
		if !strings.Contains(string(metrics), name) {
			t.Errorf("/metrics lacks %q", name)
		}
	}
	p.stop()
	s.command("verify", "--collection", "c")
}
