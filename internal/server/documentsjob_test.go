package server

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/jobs"
)

// post sends a body with a content type, checks the status of the answer and returns its header.
func (s *served) post(path, contentType string, body []byte, want int) http.Header {
	s.t.Helper()
	response, err := http.Post(s.url+path, contentType, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		s.t.Fatalf("%s: %d, want %d: %s %v", path, response.StatusCode, want, answer, err)
	}
	return response.Header
}

// documents returns the ids of all documents of a server.
func (s *served) documents() (ids []string) {
	s.t.Helper()
	var list struct{ Documents []corpus.Document }
	s.call("GET", "/v1/documents", "", 200, &list)
	for _, d := range list.Documents {
		ids = append(ids, d.ID)
	}
	return ids
}

// TestManyDocuments uploads the same files as a form, a zip and a tar.gz: each time a job
// says what became of them, also of those that cannot be read.
func TestManyDocuments(t *testing.T) {
	s := newSite(t, named("base"), "base")
	server := s.serve()
	files := map[string]string{
		"a.md": "# Bees\n\nBees dance to tell the way.", "sub/b.txt": "Open from nine to five.",
		"bad.docx": "PK\x03\x04 rubbish", "picture.png": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "empty.md": "",
	}
	names := slices.Sorted(maps.Keys(files))
	var form, zipped, tarred bytes.Buffer
	w := multipart.NewWriter(&form)
	for _, name := range names {
		header := textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name="files"; filename=%q`, name)}}
		part, err := w.CreatePart(header)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write([]byte(files[name]))
	}
	_ = w.Close()
	z := zip.NewWriter(&zipped)
	packed := gzip.NewWriter(&tarred)
	tw := tar.NewWriter(packed)
	for _, name := range names {
		f, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write([]byte(files[name]))
		_ = tw.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name])), Mode: 0o600, Typeflag: tar.TypeReg})
		_, _ = tw.Write([]byte(files[name]))
	}
	_, _ = z.Create(".hidden.md")
	for _, c := range []io.Closer{z, tw, packed} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct {
		contentType string
		body        []byte
	}{
		{w.FormDataContentType(), form.Bytes()}, {"application/zip", zipped.Bytes()}, {"application/gzip", tarred.Bytes()},
		{"application/zip", zipped.Bytes()},
	} {
		j := server.done(server.post("/v1/documents?prefix=up/&tags=new", c.contentType, c.body, http.StatusAccepted))
		done := j.Result.Documents
		reasons := map[string]string{}
		for _, f := range done.Failures {
			reasons[f.ID] = f.Reason
		}
		want := map[string]string{"up/bad.docx": "damaged", "up/picture.png": "no_text", "up/empty.md": "no_text"}
		if done.Failed != 3 || !maps.Equal(reasons, want) || done.Added+done.Replaced+done.Unchanged != 2 ||
			i == 0 && done.Added != 2 || i == 3 && done.Added > 0 {
			said, _ := json.Marshal(done)
			t.Errorf("%s: %s", c.contentType, said)
		}
		var listed struct{ Documents []corpus.Document }
		server.call("GET", "/v1/documents", "", 200, &listed)
		for _, d := range listed.Documents { // no archive here says when a file was changed
			if d.Modified.Year() < 2026 {
				t.Errorf("%s: %s was changed in %v", c.contentType, d.ID, d.Modified)
			}
		}
		if got := server.find("bees dance"); !slices.Contains(got, "up/a.md#1") {
			t.Errorf("found %q", got)
		}
	}
	if got := server.documents(); !slices.Equal(got, []string{"up/a.md", "up/sub/b.txt"}) {
		t.Errorf("documents: %q", got)
	}
	server.post("/v1/documents", "application/pdf", []byte("%PDF-1.7"), http.StatusUnsupportedMediaType)
	server.post("/v1/documents", "application/gzip", []byte("\x1f\x8b rubbish"), http.StatusUnprocessableEntity)
	server.end()

	// What was uploaded is gone with its job, and so is what no job knows.
	left := filepath.Join(s.config.Collection, "jobs", "documents-left.zip")
	if err := os.WriteFile(left, zipped.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s.serve().end()
	if all, err := filepath.Glob(filepath.Join(s.config.Collection, "jobs", "documents-*")); err != nil || len(all) > 0 {
		t.Errorf("%v are left: %v", all, err)
	}
}

// TestManyDocumentsRestart lets a job begin again after a restart.
func TestManyDocumentsRestart(t *testing.T) {
	s := newSite(t, named("base"), "base")
	dir := filepath.Join(s.config.Collection, "jobs")
	var zipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	f, err := z.Create("a.md")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.Write([]byte("Bees dance."))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	register, err := jobs.OpenFolder(disk.OS{}, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	queue := jobs.NewQueue(register, jobs.QueueOptions{Kinds: map[string]jobs.Handler{jobs.AddDocuments: {}}})
	// The server ended between accepting the job and beginning it.
	if _, err := queue.Submit(t.Context(), jobs.Request{Kind: jobs.AddDocuments, Name: "documents-1.zip"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "documents-1.zip"), zipped.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	server := s.serve()
	j := server.done(http.Header{"Location": {"/v1/jobs/1"}})
	if j.Result.Documents.Added != 1 || !slices.Contains(server.find("bees dance"), "a.md#1") {
		t.Errorf("%+v", j.Result.Documents)
	}
}
