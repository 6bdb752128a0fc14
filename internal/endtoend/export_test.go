package endtoend

import (
	"bytes"
	bin "encoding/binary"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/jobs"
)

// TestExport: what is exported is what was put in, in the order of ids, the
// vectors are those that the expert gives the texts, and a snapshot comes and goes
// over HTTP.
func TestExport(t *testing.T) {
	lines := `{"id":"a","title":"A","text":"an old lighthouse","tags":["x"],"metadata":{"year":1999}}` + "\n" + `{"id":"b","text":"<zebra> & co"}` + "\n"
	s := newSite(t, "log: {level: error}\n", []string{"small"}, "small", lines)
	p := s.serve("")
	p.get(http.MethodPut, "/v1/passages/aa?refresh=wait", `{"text":"in between"}`, http.StatusCreated, nil)
	var job jobs.Job
	p.get(http.MethodPost, "/v1/admin/snapshots", `{"name":"monday"}`, http.StatusAccepted, &job)
	p.job(job)
	var list struct {
		Snapshots []struct {
			Name     string
			Passages int
		}
	}
	p.get(http.MethodGet, "/v1/admin/snapshots", "", http.StatusOK, &list)
	if fmt.Sprint(list.Snapshots) != "[{monday 3}]" {
		t.Errorf("%+v", list)
	}
	var embedded struct{ Embeddings [][]float32 }
	p.get(
		http.MethodPost,
		"/v1/embed",
		`{"expert":"small","kind":"passage","input":["in between"]}`,
		http.StatusOK,
		&embedded,
	)

	s.command("export", "--collection", "c-snapshots/monday", "--out", "out.jsonl", "--vectors", "v")
	got, err := os.ReadFile(filepath.Join(s.dir, "out.jsonl"))
	want := strings.Replace(lines, "\n", "\n"+`{"id":"aa","text":"in between"}`+"\n", 1)
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	array, err := os.ReadFile(filepath.Join(s.dir, "v", "small.npy"))
	if err != nil {
		t.Fatal(err)
	}
	// NumPy's format 1.0: magic, version, the length of the header, the header.
	size := 10 + int(bin.LittleEndian.Uint16(array[8:]))
	d := len(embedded.Embeddings[0])
	header := string(array[10:size])
	if string(array[:8]) != "\x93NUMPY\x01\x00" || size%64 != 0 || !strings.HasSuffix(header, "\n") ||
		!strings.HasPrefix(header, fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (3, %d), }", d)) ||
		len(array) != size+3*4*d {
		t.Fatalf("%q, %d bytes", array[:min(size, len(array))], len(array))
	}
	for i, x := range embedded.Embeddings[0] {
		y := math.Float32frombits(bin.LittleEndian.Uint32(array[size+4*(d+i):]))
		if math.Abs(float64(x-y)) > math.Abs(float64(x))/2048+1e-6 { // half precision
			t.Fatalf("number %d of the second row: %v, want %v", i, y, x)
		}
	}

	// What a condition lets through, with its vectors; of a field with a declared type what fits it.
	if got := s.command("export", "--collection", "c-snapshots/monday", "--filter", `{"field":"year","gte":1999}`,
		"--vectors", "few"); got != strings.SplitAfter(lines, "\n")[0] {
		t.Errorf("%s", got)
	}
	few, err := os.ReadFile(filepath.Join(s.dir, "few", "small.npy"))
	if err != nil || !bytes.Equal(few[len(few)-4*d:], array[size:size+4*d]) || !bytes.Contains(few, fmt.Appendf(nil, "(1, %d)", d)) {
		t.Errorf("%d bytes of vectors, %v", len(few), err)
	}
	if got := s.command("export", "--url", p.url, "--filter", `{"not":{"field":"year","exists":true}}`); got !=
		`{"id":"aa","text":"in between"}`+"\n"+strings.SplitAfter(lines, "\n")[1] {
		t.Errorf("%s", got)
	}
	for _, wrong := range []string{`{"field":"year","lt":"old"}`, `{"fields":1}`, `{"field":"year","lt":true}`} {
		out, err := s.fails("", "export", "--collection", "c-snapshots/monday", "--filter", wrong)
		if err == nil || !strings.Contains(out, "--filter") {
			t.Errorf("%s: %v %s", wrong, err, out)
		}
	}

	p.get(http.MethodDelete, "/v1/admin/snapshots/monday", "", http.StatusNoContent, nil)
	if status, answer, err := p.send(http.MethodDelete, "/v1/admin/snapshots/monday", ""); err != nil ||
		status != http.StatusNotFound {
		t.Errorf("again: %d %s %v", status, answer, err)
	}
	if entries, err := os.ReadDir(filepath.Join(s.dir, "c-snapshots")); err != nil || len(entries) != 0 {
		t.Errorf("%v %v", entries, err)
	}
	p.stop()
}
