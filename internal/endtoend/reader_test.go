package endtoend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search/learned"
)

// eventually waits until a server that looks every second has seen something.
func (p *process) eventually(what string, seen func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); !seen(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s\n%s", what, p.log.String())
		}
	}
}

func (p *process) experts() []learned.ExpertInfo {
	p.t.Helper()
	var answer struct{ Experts []learned.ExpertInfo }
	p.get(http.MethodGet, "/v1/experts", "", http.StatusOK, &answer)
	return answer.Experts
}

// change asks for a job and waits until it is done.
func (p *process) change(method, path, body string) {
	p.t.Helper()
	var job jobs.Job
	p.get(method, path, body, http.StatusAccepted, &job)
	p.job(job)
}

// exactly returns the answer of an expert alone, as text.
func (p *process) exactly(expert string) string {
	p.t.Helper()
	var response struct{ Results json.RawMessage }
	p.get(
		http.MethodPost,
		"/v1/search",
		fmt.Sprintf(
			`{"question":"a text","experts":[%q],"bm25":false,"fusion":"sum","exact":true,"timeout_ms":10000}`,
			expert,
		),
		http.StatusOK,
		&response,
	)
	return string(response.Results)
}

// TestReaderFollows: a server that only reads finds what the one beside it
// writes, and loses what that one deletes; experts come and go, also one of
// another encoder under the same name; what cannot be shown is said.
func TestReaderFollows(t *testing.T) {
	s := newSite(
		t,
		"ingest: {flush_after: 10ms}\nlog: {level: warn}\n",
		[]string{"first", "late"},
		"first",
		`{"id":"old","text":"an old lighthouse"}`+"\n",
	)
	writer := s.serve("")
	reader := s.serve("", "--read-only")
	// The reader says of its experts what the writer says.
	agree := func() bool { return reflect.DeepEqual(reader.experts(), writer.experts()) }

	writer.get(http.MethodPut, "/v1/passages/new?refresh=wait", `{"text":"A zebra."}`, http.StatusCreated, nil)
	reader.eventually(
		"the reader does not find what was written", func() bool { return len(reader.search("zebra", "")) == 1 },
	)
	reader.eventually("the reader does not say how many passages there are", agree)
	if found := reader.search("A zebra.", "first"); len(found) != 2 || found["new"] == "" {
		t.Errorf("by meaning it finds %v", found)
	}
	writer.get(http.MethodDelete, "/v1/passages/new?refresh=wait", "", http.StatusOK, nil)
	reader.eventually("the reader finds what was deleted", func() bool { return len(reader.search("zebra", "")) == 0 })

	writer.change(http.MethodPost, "/v1/admin/experts", `{"name":"late"}`)
	reader.eventually("the reader does not ask the expert that joined", agree)
	before := reader.exactly("late")
	if before != writer.exactly("late") {
		t.Errorf("the reader answers %s, and the writer %s", before, writer.exactly("late"))
	}
	writer.change(http.MethodDelete, "/v1/admin/experts/first", "")
	reader.eventually("the reader asks the expert that left", agree)
	reader.get(http.MethodPost, "/v1/search", `{"question":"x","experts":["first"]}`, http.StatusUnprocessableEntity, nil)

	writer.change(http.MethodDelete, "/v1/admin/experts/late", "")
	if err := os.RemoveAll(filepath.Join(s.dir, "experts", "late")); err != nil {
		t.Fatal(err)
	}
	if _, err := tiny.Write(filepath.Join(s.dir, "experts", "late"), tiny.Expert{Name: "late", Seed: 77}); err != nil {
		t.Fatal(err)
	}
	writer.change(http.MethodPost, "/v1/admin/experts", `{"name":"late"}`)
	reader.eventually("the reader has the encoder of before", agree) // fingerprints too
	if after := reader.exactly("late"); after == before || after != writer.exactly("late") {
		t.Errorf("the reader answers %s, before %s, and the writer %s", after, before, writer.exactly("late"))
	}

	manifest, aside := filepath.Join(s.dir, "c", "MANIFEST"), filepath.Join(s.dir, "aside")
	if err := os.Rename(manifest, aside); err != nil {
		t.Fatal(err)
	}
	warned := func() bool {
		var health struct {
			Components []struct{ Warnings []string }
		}
		reader.get(http.MethodGet, "/readyz", "", http.StatusOK, &health)
		return strings.Contains(fmt.Sprint(health.Components), "MANIFEST")
	}
	reader.eventually("the reader does not say that it cannot look", warned)
	if found := reader.search("lighthouse", ""); len(found) != 1 {
		t.Errorf("without a manifest the reader finds %v", found)
	}
	if err := os.Rename(aside, manifest); err != nil {
		t.Fatal(err)
	}
	reader.eventually("the reader goes on complaining", func() bool { return !warned() })
	reader.stop()
	writer.stop()
	s.command("verify", "--collection", "c")
}

// TestCalibrationWhileServed: a calibration that is made while the collection
// is served counts from the next second on, in a server that writes and in one
// that reads; a broken one changes nothing and is told; without one it is as
// before.
func TestCalibrationWhileServed(t *testing.T) {
	s := newSite(t, "log: {level: error}\n", []string{"first"}, "first", `{"id":"old","text":"an old lighthouse"}`+"\n")
	servers := []*process{s.serve(""), s.serve("", "--read-only")}
	auto := func(p *process) string {
		var response struct{ Fusion string }
		p.get(http.MethodPost, "/v1/search", `{"question":"a lighthouse"}`, http.StatusOK, &response)
		return response.Fusion
	}
	ready := func(p *process) string {
		var health struct {
			Components []struct {
				Name     string
				Warnings []string
			}
		}
		p.get(http.MethodGet, "/readyz", "", http.StatusOK, &health)
		return fmt.Sprint(health.Components)
	}
	place := func(record string) {
		path := filepath.Join(s.dir, "c", "calibration.yaml")
		if err := os.WriteFile(path+"-new", []byte(record), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+"-new", path); err != nil {
			t.Fatal(err)
		}
	}
	usual := auto(servers[0])
	if usual == fusion.MethodSum {
		t.Fatal("auto is sum already: the test needs another method")
	}
	place("format: 3\nwritten: 2026-01-02T03:04:05Z\nauto: sum\n")
	for _, p := range servers {
		p.eventually("the calibration is not used", func() bool { return auto(p) == fusion.MethodSum })
	}
	place("format: 3\nauto: [broken\n")
	for _, p := range servers {
		p.eventually(
			"nothing is said of a broken calibration",
			func() bool { return strings.Contains(ready(p), "calibration.yaml") },
		)
		if got := auto(p); got != fusion.MethodSum {
			t.Errorf("with a broken calibration auto is %s", got)
		}
	}
	if err := os.Remove(filepath.Join(s.dir, "c", "calibration.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, p := range servers {
		p.eventually("without a calibration it is not as before", func() bool { return auto(p) == usual })
		if said := ready(p); strings.Contains(said, "calibration.yaml") {
			t.Errorf("it still complains: %s", said)
		}
	}
	for _, p := range servers {
		p.stop()
	}
}

// TestReaderLetsGo: what was merged away is open in a server that only reads
// until it looks again, and not for as long as that server runs.
func TestReaderLetsGo(t *testing.T) {
	if _, err := os.Stat("/proc/self/maps"); err != nil {
		t.Skip("it takes /proc to see what a process has open")
	}
	s := newSite(
		t,
		"ingest: {flush_after: 1ms}\nlog: {level: warn}\n",
		nil,
		"none",
		`{"id":"old","text":"an old lighthouse"}`+"\n",
	)
	writer := s.serve("")
	// Of segments that were removed.
	opened := func(p *process) (removed, all int) {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(maps)) {
			if strings.Contains(line, filepath.Join(s.dir, "c")+"/seg-") {
				all++
				if strings.Contains(line, "(deleted)") {
					removed++
				}
			}
		}
		return removed, all
	}
	write := func(from int) {
		for i := range 12 { // of which eight become one
			writer.get(
				http.MethodPut,
				fmt.Sprintf("/v1/passages/p%d?refresh=wait", from+i),
				fmt.Sprintf(`{"text":%q}`, textOf(from+i+1)),
				http.StatusCreated,
				nil,
			)
		}
	}
	write(0)
	reader := s.serve("", "--read-only")
	write(100)
	write(200)
	reader.eventually("the reader does not find everything", func() bool { return len(reader.search("text", "")) == 36 })
	reader.eventually("the reader has files open that were merged away", func() bool {
		removed, all := opened(reader)
		return removed == 0 && all > 0
	})
	reader.stop()
	writer.stop()
}
