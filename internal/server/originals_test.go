package server

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/internal/originals"
	"example.org/conclave/store/folder"
)

// original returns the status and the body of GET /v1/originals/ID.
func (s *served) original(id string) (status int, body string) {
	s.t.Helper()
	response, err := http.Get(s.url + "/v1/originals/" + id)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// serves checks that the originals of documents are these texts.
func (s *served) serves(what string, texts map[string]string) {
	s.t.Helper()
	for id, want := range texts {
		if status, body := s.original(id); status != http.StatusOK || body != want {
			s.t.Errorf("%s: %s is %d %q, not %q", what, id, status, body, want)
		}
	}
}

// copies returns how many copies of files a collection's folder has.
func (s *site) copies() int {
	entries, err := os.ReadDir(filepath.Join(s.config.Collection, originals.FolderName))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return len(entries)
}

// TestOriginalsLive: copies of uploaded files go with their last document, however that is deleted, are in snapshots,
// and survive a restart; what an interrupted upload left goes.
func TestOriginalsLive(t *testing.T) {
	s := newSite(t, nil)
	server := s.serve()
	put := func(id, text string, status int) {
		t.Helper()
		server.call("PUT", "/v1/documents/"+id+"?refresh=wait&tags=t-"+id[:1], text, status, nil)
	}
	put("a.txt", "Bees dance to tell the way.", 201)
	put("b.txt", "Bees dance to tell the way.", 201)
	put("c.txt", "Open from nine to five.", 201)
	put("c.txt", "Open from ten to five.", 200)
	var zipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	f, err := z.Create("d.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.Write([]byte("Parking is free."))
	_ = z.Close()
	server.done(server.post("/v1/documents", "application/zip", zipped.Bytes(), http.StatusAccepted))
	texts := map[string]string{
		"a.txt": "Bees dance to tell the way.", "b.txt": "Bees dance to tell the way.", "c.txt": "Open from ten to five.",
		"d.txt": "Parking is free.",
	}
	server.serves("uploaded", texts)
	server.until("the replaced file is gone", func() bool { return s.copies() == 3 })
	server.done(server.call("POST", "/v1/admin/snapshots", `{"name":"monday"}`, http.StatusAccepted, nil))
	server.call("DELETE", "/v1/documents/a.txt?refresh=wait", "", 200, nil)
	delete(texts, "a.txt")
	server.done(server.call("DELETE", "/v1/passages?tags_all=t-c", "", http.StatusAccepted, nil))
	delete(texts, "c.txt")
	server.until("the file of a deleted document is gone", func() bool { return s.copies() == 2 })
	server.serves("after deletions", texts)
	server.end()

	// As a kill leaves it, before passages were written and while a file was.
	for _, name := range []string{documents.SumOf([]byte("lost")), "tmp-1234"} {
		s.write("c/"+originals.FolderName+"/"+name, "lost")
	}
	server = s.serve()
	server.until("what an interruption left is gone", func() bool { return s.copies() == 2 })
	server.serves("after a restart", texts)
	server.end()
	s.config.ReadOnly = true
	server = s.serve()
	server.serves("read only", texts)
	server.end()

	snapshot := filepath.Join(s.dir, "c-snapshots", "monday")
	if _, err := folder.Verify(t.Context(), snapshot, nil); err != nil {
		t.Error(err)
	}
	s.config.Collection, s.config.ReadOnly = snapshot, false
	server = s.serve()
	server.serves("the snapshot", map[string]string{
		"a.txt": "Bees dance to tell the way.", "c.txt": "Open from ten to five.", "d.txt": "Parking is free.",
	})
	server.end()
}

// TestOriginalsFollowed: the files of a followed folder are served from there, those in archives too, and by a server
// that does not follow the folder any more; without documents.keep none are.
func TestOriginalsFollowed(t *testing.T) {
	s := newSite(t, nil)
	s.config.Documents.Look = 30 * time.Millisecond
	s.watch = []string{filepath.Join(s.dir, "files")}
	s.write("files/wiki/bees.md", "# Bees\n\nBees dance to tell the way.")
	var zipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	for _, name := range []string{"x.txt", "y.txt"} {
		f, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(f, "The text of %s.", name)
	}
	_ = z.Close()
	s.write("files/old.zip", zipped.String())
	earlier := time.Now().Add(-time.Hour)
	for _, name := range []string{"files/wiki/bees.md", "files/old.zip"} {
		if err := os.Chtimes(filepath.Join(s.dir, name), earlier, earlier); err != nil {
			t.Fatal(err)
		}
	}
	texts := map[string]string{
		"wiki/bees.md": "# Bees\n\nBees dance to tell the way.", "old.zip/x.txt": "The text of x.txt.",
		"old.zip/y.txt": "The text of y.txt.",
	}
	server := s.serve()
	server.until("the documents are there", func() bool { return len(server.documents()) == 3 })
	server.serves("while it is followed", texts)
	server.end()
	s.watch = nil
	server = s.serve()
	server.serves("while it is not followed", texts)
	s.write("files/wiki/bees.md", "# Bees\n\nBees do not dance.")
	if status, body := server.original("wiki/bees.md"); status != 404 || !strings.Contains(body, "no_original") {
		t.Errorf("a changed file: %d %s", status, body)
	}
	if n := s.copies(); n != 0 {
		t.Errorf("%d copies", n)
	}
	server.end()
	s.config.Documents.Keep = false
	server = s.serve()
	server.call("PUT", "/v1/documents/a.txt", "Bees dance.", 201, nil)
	if status, _ := server.original("a.txt"); status != 404 || s.copies() != 0 {
		t.Errorf("without documents.keep: %d, %d copies", status, s.copies())
	}
}

// TestOriginalsQuota: copies of files count in the quota of bytes, and what is deleted makes room.
func TestOriginalsQuota(t *testing.T) {
	s := several(t)
	server := s.serve()
	server.create(`{"name":"q","experts":["none"],"quotas":{"bytes":200000}}`)
	at := "/v1/collections/q/documents/"
	file := func(name string) string { // much of it is no text
		return "<!-- " + strings.Repeat(name, 150_000) + " --><p>The text of " + name + ".</p>"
	}
	server.call("PUT", at+"a.html?refresh=wait", file("a"), 201, nil)
	server.call("PUT", at+"b.html", file("b"), http.StatusForbidden, nil)
	server.call("PUT", at+"a2.html", file("a"), 201, nil) // the same file needs no more
	server.call("DELETE", at+"a.html", "", 200, nil)
	server.call("DELETE", at+"a2.html?refresh=wait", "", 200, nil)
	server.until("there is room", func() bool {
		request, err := http.NewRequest("PUT", server.url+at+"b.html", strings.NewReader(file("b")))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusCreated
	})
}
