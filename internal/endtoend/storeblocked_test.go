package endtoend

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestClusterBlocked: /readyz and doctor say in words which block an index or its cluster has and which watermark a
// disk is above, searches go on, a write is refused with the cluster's reason, and all of that ends with the fault.
// Real nodes are told of the fault as an operator, or a disk that fills, would.
func TestClusterBlocked(t *testing.T) {
	c := startCluster(t)
	s := newSite(t, "", []string{"small"}, "small", clusterLines(8))
	address := storeAt(t, c, "blocked")
	s.command("export", "--collection", "c", "--to", address)
	p := s.serve("", "--store", address)
	defer p.stop()
	several := s.serve("", "--store", strings.TrimSuffix(address, "ked")+"*") // the index is its collection "ked"
	defer several.stop()
	defer http.DefaultClient.CloseIdleConnections()
	tell := func(path, body string) {
		t.Helper()
		request, err := http.NewRequest(http.MethodPut, c.URLs[0]+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %+v", body, err, answer)
		}
		_ = answer.Body.Close()
	}
	const disk = `"cluster.routing.allocation.disk.`
	disks := func(enabled, low, high, flood string) string {
		return `{"transient":{` + disk + `threshold_enabled":` + enabled + `,` + disk + `watermark.low":` + low + `,` +
			disk + `watermark.high":` + high + `,` + disk + `watermark.flood_stage":` + flood + `}}`
	}
	usual := disks("null", "null", "null", "null")
	tell("/_cluster/settings", `{"transient":{"cluster.info.update.interval":"10s"}}`) // the shortest
	defer tell("/_cluster/settings", `{"transient":{"cluster.info.update.interval":null}}`)
	// Above the high watermark on every node, the cluster soon makes no new index, and says so for good once the
	// watermarks are not in force any more.
	newIndexes := `{"persistent":{"cluster.blocks.create_index":null},"transient":{"cluster.blocks.create_index":null}}`
	defer tell("/_cluster/settings", newIndexes)
	defer tell("/_cluster/settings", usual)
	defer tell("/_cluster/settings", `{"transient":{"cluster.blocks.read_only":null}}`)
	// says waits until /readyz has the words, and no longer what it said of the fault before.
	says := func(gone string, words ...string) {
		t.Helper()
		for _, server := range []*process{p, several} {
			for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
				status, answer, err := server.send(http.MethodGet, "/readyz", "")
				all := err == nil && status == http.StatusOK
				for _, w := range words {
					all = all && bytes.Contains(answer, []byte(w))
				}
				if all && (gone == "" || !bytes.Contains(answer, []byte(gone))) {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("/readyz, where %q is expected, and not %q: %d, %v, %s", words, gone, status, err, answer)
				}
			}
		}
	}
	const no = "the index takes no changes, by "
	before := "" // what the fault before alone had
	for _, fault := range []struct {
		path, set, end string
		status         int // of a write; 0: it is taken
		code           string
		words          []string
	}{
		{"/blocked/_settings", `{"index.blocks.read_only_allow_delete":true}`, `{"index.blocks.read_only_allow_delete":null}`,
			http.StatusInsufficientStorage, "storage_full",
			[]string{no + "index.blocks.read_only_allow_delete", "the cluster takes it away by itself when there is room"}},
		{"/blocked/_settings", `{"index.blocks.read_only":true}`, `{"index.blocks.read_only":null}`,
			http.StatusServiceUnavailable, "not_written",
			[]string{no + "index.blocks.read_only", "until the block is taken away"}},
		{"/blocked/_settings", `{"index.blocks.write":true}`, `{"index.blocks.write":null}`,
			http.StatusServiceUnavailable, "not_written", []string{no + "index.blocks.write"}},
		{"/_cluster/settings", `{"transient":{"cluster.blocks.read_only":true}}`,
			`{"transient":{"cluster.blocks.read_only":null}}`,
			http.StatusServiceUnavailable, "not_written", []string{no + "cluster.blocks.read_only"}},
		{"/_cluster/settings", disks("true", `"9000tb"`, `"8000tb"`, `"1b"`), usual, 0, "",
			[]string{"the disk of node node-0 is ", "above the cluster's watermark high (8000tb)",
				"the cluster makes no new index, by cluster.blocks.create_index"}},
		{"/_cluster/settings", disks("true", `"9000tb"`, `"2b"`, `"1b"`), usual, 0, "",
			[]string{"the disk of node node-2 is ", "above the cluster's watermark low (9000tb)"}},
	} {
		tell(fault.path, fault.set)
		says(before, fault.words...)
		before = fault.words[0]
		if !strings.HasPrefix(before, no) {
			before = fault.words[1]
		}
		doctor, err := s.fails("", "doctor", "--store", address)
		for _, w := range fault.words {
			if !strings.Contains(doctor, w) {
				t.Errorf("%s: doctor does not say %q: %v\n%s", fault.set, w, err, doctor)
			}
		}
		if found := p.search("lamp", ""); len(found) != 8 {
			t.Errorf("%s: a search finds %v", fault.set, found)
		}
		status, answer, err := p.send(http.MethodPut, "/v1/passages/lamp1", `{"text":"something else"}`)
		switch {
		case err != nil:
			t.Error(err)
		case fault.status == 0:
			if status != http.StatusOK && status != http.StatusCreated {
				t.Errorf("%s: a write: %d, %s", fault.set, status, answer)
			}
		case status != fault.status || !strings.Contains(string(answer), `"`+fault.code+`"`) ||
			!strings.Contains(string(answer), "blocked by"):
			t.Errorf("%s: a write: %d, %s", fault.set, status, answer)
		}
		status, answer, err = p.send(http.MethodPut, "/v1/admin/settings", `{"fields":{"kind":"keyword"}}`)
		switch {
		case err != nil:
			t.Error(err)
		case fault.status == 0 || strings.Contains(fault.set, "blocks.write"): // settings are none of the documents
			if status != http.StatusOK {
				t.Errorf("%s: settings: %d, %s", fault.set, status, answer)
			}
		case status != fault.status || !strings.Contains(string(answer), `"`+fault.code+`"`) ||
			!strings.Contains(string(answer), "blocked by"):
			t.Errorf("%s: settings: %d, %s", fault.set, status, answer)
		}
		if strings.Contains(fault.set, "cluster.blocks.read_only") { // a job is written down beside the index
			status, answer, err = p.send(http.MethodDelete, "/v1/passages?tags_all=nothing", "")
			if err != nil || status != fault.status || !strings.Contains(string(answer), `"`+fault.code+`"`) {
				t.Errorf("%s: a job: %d, %v, %s", fault.set, status, err, answer)
			}
		}
		tell(fault.path, fault.end) // the server, which looks every few seconds, sees that with the next
		tell("/_cluster/settings", newIndexes)
	}
	says(before)
	if doctor, err := s.fails("", "doctor", "--store", address); strings.Contains(doctor, no) {
		t.Errorf("afterwards doctor says: %v\n%s", err, doctor)
	}
}
