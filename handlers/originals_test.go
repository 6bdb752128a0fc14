package handlers

import (
	"context"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/internal/originals"
)

// keepOriginals lets a server keep copies of files, and returns its Keeper.
func (s *writingServer) keepOriginals(roots ...string) *keeping.Keeper {
	s.t.Helper()
	copies, err := originals.Open(disk.OS{}, s.dir, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	o := documents.Options{Limits: documentLimits(), Words: 20}
	keeper := keeping.New(s.live, o, copies)
	s.api.keeper.Store(keeper)
	s.api.AttachOriginals(&originals.Reader{Collection: s.dir, Roots: roots, Unpack: o.Extractor()})
	return keeper
}

// TestOriginals puts files of several kinds and fetches them, whole and in part: the bytes are those that were sent,
// and no browser runs them.
func TestOriginals(t *testing.T) {
	s := startWriting(t, writingOptions{})
	s.asked(201, nil, "PUT", "/v1/documents/before.txt", "Not kept.", "Content-Type", "text/plain")
	s.keepOriginals()
	page := "<html><body><script>alert(1)</script><p>Bees dance to tell the way.</p></body></html>"
	for _, c := range []struct{ id, declared, body, mediaType, disposition string }{
		{"a/b c.txt", "text/plain", "Open from nine to five.", "text/plain", "attachment"},
		{"page.html", "text/html", page, "application/octet-stream", "attachment"},
		{`x".svg.md`, "text/markdown", "# Bees\n\nBees dance.", "application/octet-stream", "attachment"},
	} {
		path := escapedPath(c.id)
		s.asked(201, nil, "PUT", "/v1/documents/"+path, c.body, "Content-Type", c.declared)
		var d DocumentAnswer
		s.asked(200, &d, "GET", "/v1/documents/"+path, "")
		if d.Original != corpus.OriginalCopy {
			t.Errorf("%s: %+v", c.id, d)
		}
		r := s.asked(200, nil, "GET", "/v1/originals/"+path, "", "Accept-Encoding", "gzip")
		mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		disposition, names, err := mime.ParseMediaType(r.Header.Get("Content-Disposition"))
		if string(r.body) != c.body || mediaType != c.mediaType || disposition != c.disposition || err != nil ||
			!strings.HasPrefix(r.Header.Get("Content-Security-Policy"), "sandbox; default-src 'none'") ||
			r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("ETag") != `"`+d.SHA256+`"` {
			t.Errorf("%s: %q %v", c.id, r.body, r.Header)
		}
		if want := filepath.Base(strings.ReplaceAll(c.id, `"`, "_")); names["filename"] != want {
			t.Errorf("%s is to be saved as %q, not %q", c.id, names["filename"], want)
		}
		part := s.asked(206, nil, "GET", "/v1/originals/"+path, "", "Range", "bytes=2-4")
		if string(part.body) != c.body[2:5] {
			t.Errorf("%s: bytes 2 to 4 are %q", c.id, part.body)
		}
		s.asked(304, nil, "GET", "/v1/originals/"+path, "", "If-None-Match", r.Header.Get("ETag"))
		head := s.asked(200, nil, http.MethodHead, "/v1/originals/"+path, "")
		if head.ContentLength != int64(len(c.body)) {
			t.Errorf("%s: HEAD says %d bytes", c.id, head.ContentLength)
		}
	}
	// Only a PDF has pages to draw.
	for query, code := range map[string]string{
		"?page=1": "no_such_page", "?page=0": "out_of_range", "?page=x": "wrong_type",
	} {
		if p := s.send("GET", "/v1/originals/page.html"+query, "").problem(t); p.Code != code {
			t.Errorf("%s: %s, want %s", query, p.Code, code)
		}
	}
	for path, want := range map[string]string{
		"before.txt": "no_original", "absent": "unknown_document",
	} {
		if p := s.send("GET", "/v1/originals/"+path, "").problem(t); p.Code != want || p.Status != 404 {
			t.Errorf("%s: %+v", path, p)
		}
	}
	if p := s.send("GET", "/v1/originals/page.html", "", "Range", "bytes=900-").problem(t); p.Code != "no_such_range" {
		t.Errorf("%+v", p)
	}
	s.asked(200, nil, "DELETE", "/v1/documents/page.html?refresh=wait", "")
	if p := s.send("GET", "/v1/originals/page.html", "").problem(t); p.Code != "unknown_document" {
		t.Errorf("of a deleted document: %+v", p)
	}
	// A damaged or foreign sum names no file elsewhere.
	s.asked(201, nil, "PUT", "/v1/passages/evil%231", `{"text":"x","metadata":{"document":"evil",`+
		`"document_original":"copy","document_sha256":"../MANIFEST","document_passages":1}}`, "Content-Type", "application/json")
	if p := s.send("GET", "/v1/originals/evil", "").problem(t); p.Code != "no_original" {
		t.Errorf("%+v", p)
	}
}

func escapedPath(id string) string {
	return strings.NewReplacer(" ", "%20", `"`, "%22").Replace(id)
}

// TestReferredOriginals: the file of a followed folder is served while it is what was read, and nothing outside the
// folder is.
func TestReferredOriginals(t *testing.T) {
	s := startWriting(t, writingOptions{})
	root := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "hours.txt"), "Open from nine to five.")
	write(outside, "A secret.")
	if err := os.Symlink(outside, filepath.Join(root, "link.txt")); err != nil {
		t.Fatal(err)
	}
	keeper := s.keepOriginals(root)
	mark, err := documents.RootOf(root)
	if err != nil {
		t.Fatal(err)
	}
	put := func(id, below, text string) {
		t.Helper()
		about := documents.About{ID: id, Root: mark, Original: corpus.OriginalFile + below}
		file := keeping.DocumentFile{About: about, Data: []byte(text)}
		if _, err := keeper.Put(context.Background(), file, keeping.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	put("hours.txt", "hours.txt", "Open from nine to five.")
	put("link.txt", "link.txt", "A secret.")
	relative, err := filepath.Rel(root, outside)
	if err != nil {
		t.Fatal(err)
	}
	put("up", filepath.ToSlash(relative), "A secret.")
	put("other.txt", "hours.txt", "Another text.")
	if r := s.asked(200, nil, "GET", "/v1/originals/hours.txt", ""); string(r.body) != "Open from nine to five." {
		t.Errorf("%q", r.body)
	}
	for _, id := range []string{"link.txt", "up", "other.txt"} {
		if p := s.send("GET", "/v1/originals/"+id, "").problem(t); p.Code != "no_original" {
			t.Errorf("%s: %+v", id, p)
		}
	}
	write(filepath.Join(root, "hours.txt"), "Open from ten to five. ")
	if p := s.send("GET", "/v1/originals/hours.txt", "").problem(t); p.Code != "no_original" {
		t.Errorf("a changed file: %+v", p)
	}
	if entries, err := os.ReadDir(filepath.Join(s.dir, originals.FolderName)); len(entries) > 0 || err == nil {
		t.Errorf("copies of followed files: %v %v", entries, err)
	}
}

// TestOriginalTypes: browsers show PDF and images, and save everything that may have scripts.
func TestOriginalTypes(t *testing.T) {
	for mediaType, want := range map[string]string{
		"application/pdf": "application/pdf inline", "image/png": "image/png inline", "image/jpeg": "image/jpeg inline",
		"image/svg+xml": "application/octet-stream attachment", "text/html": "application/octet-stream attachment",
		"application/xhtml+xml": "application/octet-stream attachment", "": "application/octet-stream attachment",
		"text/plain": "text/plain; charset=utf-8 attachment", "text/xml": "application/octet-stream attachment",
		"image/png\r\nX: y": "application/octet-stream attachment",
	} {
		h := http.Header{}
		describeOriginal(h, &corpus.Document{ID: "a/b.x", MediaType: mediaType})
		disposition, _, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
		if got := h.Get("Content-Type") + " " + disposition; got != want {
			t.Errorf("%q: %s, not %s", mediaType, got, want)
		}
	}
}

// anyOriginal gives every document a file with the same text.
type anyOriginal string

func (a anyOriginal) Open(context.Context, *corpus.Document, func(int) error) (*originals.Original, error) {
	name := filepath.Join(string(a), "original")
	return (&originals.Reader{Collection: string(a)}).Open(context.Background(), &corpus.Document{
		Original: corpus.OriginalCopy, SHA256: documents.SumOf([]byte(secret)), ID: name,
	}, nil)
}

func (anyOriginal) Draw(
	context.Context, *corpus.Document, int, string, func(int) error,
) (documents.DrawnPage, error) {
	return documents.DrawnPage{PNG: []byte(secret), Pages: 1}, nil
}

// attachAnyOriginal lets an API serve a secret as the file of every document.
func attachAnyOriginal(t *testing.T, api *API) {
	t.Helper()
	dir := t.TempDir()
	copies, err := originals.Open(disk.OS{}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := copies.Keep([]byte(secret)); err != nil {
		t.Fatal(err)
	}
	api.AttachOriginals(anyOriginal(dir))
}
