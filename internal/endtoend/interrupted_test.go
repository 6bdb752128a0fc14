package endtoend

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInterruptedUpload kills a server twice while it reads the same file of an upload. The third one starts,
// leaves that file out by name, and reads the others.
func TestInterruptedUpload(t *testing.T) {
	s := newSite(t, "", nil, "none", `{"id":"x","text":"a passage"}`+"\n")
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	long := strings.Repeat("Some words of a sentence, which is one of many. And another one.\n\n", 120_000)
	for name, text := range map[string]string{"a.md": "# First", "long.md": long} {
		f, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write([]byte(text))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	p := s.serve("")
	response, err := s.client.Post(p.url+"/v1/documents", "application/zip", &b)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		t.Fatalf("the upload was answered with %s", response.Status)
	}
	job := response.Header.Get("Location")
	for before := range 2 {
		awaitReading(t, filepath.Join(s.dir, "c"), "long.md", before)
		p.kill()
		p = s.serve("")
	}
	var got struct {
		State  string
		Error  string
		Result struct {
			Documents struct {
				Added    int
				Failed   int
				Failures []struct{ ID, Reason, Detail string }
			}
		}
	}
	for deadline := time.Now().Add(time.Minute); got.State != "done"; time.Sleep(10 * time.Millisecond) {
		_, answer, err := p.send(http.MethodGet, job, "")
		if err != nil || json.Unmarshal(answer, &got) != nil || got.State == "failed" || time.Now().After(deadline) {
			t.Fatalf("the job is %s, %v", answer, err)
		}
	}
	d := got.Result.Documents
	if d.Failed != 1 || len(d.Failures) != 1 || d.Failures[0].ID != "long.md" ||
		!strings.Contains(d.Failures[0].Detail, "ended 2 times") {
		t.Errorf("the job says %+v", d)
	}
	if status, _, err := p.send(http.MethodGet, "/v1/documents/a.md", ""); err != nil || status != http.StatusOK {
		t.Errorf("the other file: %d, %v", status, err)
	}
	p.stop()
}

// awaitReading waits until a job of a collection says that it reads a file of its upload, which was interrupted
// so often before.
func awaitReading(t *testing.T, collection, name string, before int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		marks, _ := filepath.Glob(filepath.Join(collection, "jobs", "*.work"))
		uploads, _ := filepath.Glob(filepath.Join(collection, "jobs", "*.zip"))
		if len(marks) != 1 || len(uploads) != 1 {
			continue
		}
		var mark struct {
			Reading     *int
			Interrupted map[int]int
		}
		text, _ := os.ReadFile(marks[0])
		if json.Unmarshal(text, &mark) != nil || mark.Reading == nil || mark.Interrupted[*mark.Reading] != before {
			continue
		}
		upload, err := zip.OpenReader(uploads[0])
		if err != nil {
			continue
		}
		reads := upload.File[*mark.Reading].Name
		_ = upload.Close()
		if reads == name {
			return
		}
	}
	t.Fatalf("no job reads %s", name)
}
