package main

import (
	"bytes"
	"encoding/json"
	"image/png"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/provision"
)

// TestPageOfAnOriginal: a PDF that was put is served as it is, and a page of it as a picture, larger in bytes where the
// passage that was found there is marked. Pages and passages that there are not are told.
func TestPageOfAnOriginal(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "documents", "testdata", "handbook.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := provision.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write(t, "conclave.yaml", "cache: "+cache.Root+"\n") // with PDFium's compiled form
	code, _, said := conclave(t, "index", "--collection", "c", "--in", passagesFile(t), "--experts", "none")
	if code != cli.ExitOK {
		t.Fatal(said)
	}
	s := startServer(t)
	ask := func(method, path string, body []byte) (*http.Response, []byte) {
		t.Helper()
		r, err := http.NewRequest(method, s.url+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/pdf")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, text
	}
	if r, said := ask("PUT", "/v1/documents/handbook.pdf?refresh=wait", data); r.StatusCode >= 300 {
		t.Fatalf("%d %s", r.StatusCode, said)
	}
	found := s.first("lost the receipt bank statement")
	if len(found.Results) == 0 || found.Results[0].Place.Page != 2 {
		t.Fatalf("found %+v", found.Results)
	}
	if _, whole := ask("GET", "/v1/originals/handbook.pdf", nil); !bytes.Equal(whole, data) {
		t.Errorf("the file has %d bytes of %d", len(whole), len(data))
	}
	const page = "/v1/originals/handbook.pdf?page=2"
	marked := page + "&passage=" + url.QueryEscape(found.Results[0].ID)
	_, plain := ask("GET", page, nil)
	r, picture := ask("GET", marked, nil)
	shown, err := png.Decode(bytes.NewReader(picture))
	if err != nil || r.Header.Get("X-Pages") != "3" || r.Header.Get("Content-Type") != "image/png" ||
		shown.Bounds().Dx() != 1191 || bytes.Equal(plain, picture) {
		t.Errorf("%v, %v", err, r.Header)
	}
	for path, code := range map[string]string{
		"/v1/originals/handbook.pdf?page=4":                "no_such_page",
		"/v1/originals/handbook.pdf?page=2&passage=nobody": "unknown_passage",
		"/v1/originals/nobody.pdf?page=1":                  "unknown_document",
	} {
		var p struct{ Code string }
		_, said := ask("GET", path, nil)
		if err := json.Unmarshal(said, &p); err != nil || p.Code != code {
			t.Errorf("%s: %.200s, want %s", path, said, code)
		}
	}
	s.stop()
	if code, _, said := conclave(t, "verify", "--collection", "c"); code != cli.ExitOK {
		t.Errorf("with the kept file: exit code %d, %s", code, said)
	}
	if err := os.RemoveAll(filepath.Join("c", "originals")); err != nil {
		t.Fatal(err)
	}
	code, _, said = conclave(t, "verify", "--collection", "c")
	if code != cli.ExitFailed || !strings.Contains(said, "no copy of the file of these documents: handbook.pdf.") {
		t.Errorf("without the kept file: exit code %d, %s", code, said)
	}
}
