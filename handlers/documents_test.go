package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/search/reply"
)

const handbook = "# Returns\n\nReturns are free.\n\n## Damaged goods\n\nSend a photo of the damage first.\n\n" +
	"## Money back\n\nMoney comes back within ten days.\n"

// asked sends a request, wants a status, and reads the answer.
func (s *server) asked(status int, into any, method, path, body string, header ...string) received {
	s.t.Helper()
	r := s.send(method, path, body, header...)
	if r.StatusCode != status {
		s.t.Fatalf("%s %s: %d %s, want %d", method, path, r.StatusCode, r.body, status)
	}
	if into != nil {
		if err := json.Unmarshal(r.body, into); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, r.body)
		}
	}
	return r
}

// TestDocuments puts, reads, lists, replaces and deletes documents as a person would.
func TestDocuments(t *testing.T) {
	s := startWriting(t, writingOptions{})
	var put keeping.ChangeResult
	query := "?refresh=wait&tags=service,public&source=https://example.org/h&modified=2026-01-31T12:00:00Z&metadata=" +
		url.QueryEscape(`{"year":2026}`)
	r := s.asked(201, &put, "PUT", "/v1/documents/guide/hand%20book.md"+query, handbook, "Content-Type", "text/markdown")
	if put.ID != "guide/hand book.md" || put.Outcome != "created" || put.Passages != 3 ||
		r.Header.Get("ETag") != `"`+put.Version+`"` || r.Header.Get("Location") != "/v1/documents/guide%2Fhand%20book.md" {
		t.Fatalf("%+v %v", put, r.Header)
	}
	if got := s.found("photo of the damage"); !slices.Contains(got, "guide/hand book.md#2") {
		t.Errorf("found %q", got)
	}

	var got DocumentAnswer
	s.asked(200, &got, "GET", "/v1/documents/guide%2Fhand%20book.md?text=true&passages=true", "")
	want := corpus.Document{
		ID: "guide/hand book.md", Title: "Returns", Source: "https://example.org/h", MediaType: "text/markdown",
		Passages: 3, Tags: []string{"service", "public"},
	}
	if got.ID != want.ID || got.Title != want.Title || got.Source != want.Source || got.MediaType != want.MediaType ||
		got.Passages != 3 || !slices.Equal(got.Tags, want.Tags) || got.Modified.Format("2006-01-02") != "2026-01-31" ||
		fmt.Sprint(got.Metadata) != "map[year:2026]" || got.Version != put.Version {
		t.Errorf("%+v", got)
	}
	if got.Text != "Returns\n\nReturns are free.\n\nDamaged goods\n\nSend a photo of the damage first.\n\n"+
		"Money back\n\nMoney comes back within ten days." {
		t.Errorf("text %q", got.Text)
	}
	for _, p := range got.PassageList {
		begin, end, _ := corpus.PlaceInDocument(&p.Passage)
		if got.Text[begin:end] != p.Text {
			t.Errorf("%s stands at %d to %d, where %q is", p.ID, begin, end, got.Text[begin:end])
		}
	}
	s.asked(304, nil, "GET", "/v1/documents/guide/hand%20book.md", "", "If-None-Match", `"`+put.Version+`"`)

	// The same again changes nothing, also where nobody says when the file was changed.
	s.asked(200, &put, "PUT", "/v1/documents/guide/hand%20book.md"+query, handbook, "Content-Type", "text/markdown")
	if put.Outcome != "unchanged" {
		t.Errorf("the same again: %+v", put)
	}
	s.asked(201, nil, "PUT", "/v1/documents/plain.txt", "One. Two.", "Content-Type", "text/plain")
	s.asked(200, &put, "PUT", "/v1/documents/plain.txt", "One. Two.", "Content-Type", "text/plain")
	if put.Outcome != "unchanged" {
		t.Errorf("the same without a time: %+v", put)
	}

	// A form, with another version that is shorter.
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for name, value := range map[string]string{"title": "Second", "tags": "public", "metadata": `{"year":2027}`} {
		_ = w.WriteField(name, value)
	}
	part, _ := w.CreateFormFile("file", "x.md")
	_, _ = part.Write([]byte("Only this is left."))
	_ = w.Close()
	s.asked(200, &put, "PUT", "/v1/documents/guide/hand%20book.md?refresh=wait", form.String(),
		"Content-Type", w.FormDataContentType(), "If-Match", `"`+got.Version+`"`)
	if put.Outcome != "replaced" || put.Passages != 1 {
		t.Errorf("%+v", put)
	}
	if found := s.found("photo of the damage"); slices.Contains(found, "guide/hand book.md#2") {
		t.Errorf("found %q", found)
	}
	s.asked(404, nil, "GET", "/v1/passages/guide/hand%20book.md%232", "")
	s.asked(412, nil, "PUT", "/v1/documents/guide/hand%20book.md", "x", "If-Match", `"`+got.Version+`"`)
	s.asked(412, nil, "PUT", "/v1/documents/guide/hand%20book.md", "x", "If-None-Match", "*")

	// Lists: of a folder, of a word in the title, page by page.
	for i := range 5 {
		path := fmt.Sprintf("/v1/documents/wiki/%d.md?refresh=wait", i)
		s.asked(201, nil, "PUT", path, fmt.Sprintf("# Page %d\n\nText.", i))
	}
	for path, want := range map[string]string{
		"/v1/documents":                                      "[guide/hand book.md plain.txt wiki/0.md wiki/1.md wiki/2.md wiki/3.md wiki/4.md] ",
		"/v1/documents?prefix=wiki/&limit=2":                 "[wiki/0.md wiki/1.md] wiki/1.md",
		"/v1/documents?prefix=wiki/&after=wiki/1.md&limit=3": "[wiki/2.md wiki/3.md wiki/4.md] ",
		"/v1/documents?q=second":                             "[guide/hand book.md] ",
		"/v1/documents?q=PAGE%203":                           "[wiki/3.md] ",
		"/v1/documents?q=nowhere":                            "[] ",
		"/v1/documents?prefix=zzz":                           "[] ",
	} {
		var list DocumentList
		s.asked(200, &list, "GET", path, "")
		ids := []string{}
		for _, d := range list.Documents {
			ids = append(ids, d.ID)
		}
		if got := fmt.Sprint(ids, " ", list.Next); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}

	s.asked(200, &put, "DELETE", "/v1/documents/guide/hand%20book.md?refresh=wait", "")
	if put.Outcome != "deleted" {
		t.Errorf("%+v", put)
	}
	s.asked(404, nil, "DELETE", "/v1/documents/guide/hand%20book.md", "")
	s.asked(404, nil, "GET", "/v1/documents/guide/hand%20book.md", "")
}

// TestDocumentsRefused: what cannot be read or stored is refused with the reason.
func TestDocumentsRefused(t *testing.T) {
	s := startWriting(t, writingOptions{})
	for name, c := range map[string]struct {
		path, body string
		header     []string
		status     int
		code, says string
	}{
		"nothing": {"/v1/documents/a.md", "", nil, 422, "unreadable_document", "empty"},
		"a broken image": {
			"/v1/documents/a.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
			nil, 422, "unreadable_document", "", // with tesseract and without
		},
		"a sound": {"/v1/documents/a.mp3", "ID3\x03\x00", nil, 415, "unsupported_media_type", "are not read"},
		"damaged": {"/v1/documents/a.docx", "PK\x03\x04 and then rubbish", nil, 422, "unreadable_document", ""},
		"an archive": {
			"/v1/documents/a.zip", "PK\x05\x06" + strings.Repeat("\x00", 18),
			nil, 415, "unsupported_media_type", "",
		},
		"too large": {"/v1/documents/a.txt", strings.Repeat("x", 1<<20+1), nil, 413, "body_too_large", ""},
		"encoded": {
			"/v1/documents/a.txt", "x",
			[]string{"Content-Encoding", "gzip"}, 415, "unsupported_media_type", "",
		},
		"bad metadata": {"/v1/documents/a.txt?metadata=[1]", "x", nil, 422, "invalid_document", "JSON object"},
		"nested": {
			"/v1/documents/a.txt?metadata=" + url.QueryEscape(`{"a":{}}`), "x",
			nil, 422, "invalid_document", "flat",
		},
		"taken key": {
			"/v1/documents/a.txt?metadata=" + url.QueryEscape(`{"page":1}`), "x",
			nil, 422, "invalid_document", "page",
		},
		"bad time": {"/v1/documents/a.txt?modified=today", "x", nil, 422, "invalid_document", "2026"},
		"no time":  {"/v1/documents/a.txt?modified=", "x", nil, 422, "invalid_document", "2026"},
		"long id":  {"/v1/documents/" + strings.Repeat("x", 512), "x", nil, 422, "invalid_document", "512"},
		"no file": {
			"/v1/documents/a.txt", "--b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nx\r\n--b--",
			[]string{"Content-Type", "multipart/form-data; boundary=b"}, 422, "invalid_document", "file",
		},
		"unknown option": {"/v1/documents/a.txt?colour=red", "x", nil, 400, "unknown_parameter", ""},
	} {
		r := s.send("PUT", c.path, c.body, c.header...)
		if r.StatusCode != c.status {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.body)
			continue
		}
		if p := r.problem(t); p.Code != c.code || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s: %s: %s", name, p.Code, p.Detail)
		}
	}
	var list DocumentList
	s.asked(200, &list, "GET", "/v1/documents", "")
	if len(list.Documents) > 0 {
		t.Errorf("stored %+v", list)
	}
}

// TestDocumentsWhole replaces a document again and again while others read and search it:
// nobody sees two versions.
func TestDocumentsWhole(t *testing.T) {
	s := startWriting(t, writingOptions{})
	version := func(n int) string {
		var text strings.Builder
		for i := range 1 + n%7 {
			fmt.Fprintf(&text, "# Part %d\n\nThis is version number%d of something.\n\n", i, n)
		}
		return text.String()
	}
	const versions = 30
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for w := range 2 {
		writers.Go(func() {
			for n := range versions {
				r := s.send("PUT", "/v1/documents/d.md", version(w*versions+n))
				if r.StatusCode != 200 && r.StatusCode != 201 {
					t.Errorf("%d %s", r.StatusCode, r.body)
				}
			}
		})
	}
	same := func(what string, texts []string) {
		seen := map[string]bool{}
		for _, text := range texts {
			for word := range strings.FieldsSeq(text) {
				if strings.HasPrefix(word, "number") {
					seen[word] = true
				}
			}
		}
		if len(seen) > 1 {
			t.Errorf("%s: %v", what, seen)
		}
	}
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			var got DocumentAnswer
			if r := s.send("GET", "/v1/documents/d.md?text=true&passages=true", ""); r.StatusCode == 200 {
				if err := json.Unmarshal(r.body, &got); err != nil {
					t.Error(err)
				}
				same("document", []string{got.Text})
			}
			var found reply.Response
			r := s.post("/v1/search", `{"question":"version something","k":50,"collapse":false}`)
			if err := json.Unmarshal(r.body, &found); err != nil || r.StatusCode != 200 {
				t.Errorf("%s %v", r.body, err)
			}
			var texts []string
			for _, p := range found.Results {
				texts = append(texts, p.Text)
			}
			same("search", texts)
		}
	})
	writers.Wait()
	close(stop)
	readers.Wait()
}

// TestPassagePlace: a passage that is read says where it stands in its document, alone, in the list
// and among those of the document, and may be put back as it was read.
func TestPassagePlace(t *testing.T) {
	s := startWriting(t, writingOptions{})
	s.asked(201, nil, "PUT", "/v1/documents/guide.md?refresh=wait&source=https://example.org/g", handbook)
	const words = "Send a photo of the damage first."
	begins := len("Returns\n\nReturns are free.\n\nDamaged goods\n\n")
	path := "/v1/passages/guide.md%232"
	var one PlacedPassage
	r := s.asked(200, &one, "GET", path, "")
	var list PassageList
	s.asked(200, &list, "GET", "/v1/passages?limit=1&after=guide.md%231", "")
	var whole DocumentAnswer
	s.asked(200, &whole, "GET", "/v1/documents/guide.md?passages=true&text=true", "")
	everywhere := map[string]PlacedPassage{"alone": one, "listed": list.Passages[0], "of it": whole.PassageList[1]}
	for what, p := range everywhere {
		if p.ID != "guide.md#2" || p.Document == nil || p.Document.ID != "guide.md" || p.Document.Title != "Returns" ||
			p.Document.Source != "https://example.org/g" || p.Heading != "Returns › Damaged goods" || p.Begin == nil ||
			*p.Begin != begins || p.End == nil || *p.End != begins+len(words) || whole.Text[*p.Begin:*p.End] != words {
			t.Errorf("%s: %+v", what, p)
		}
	}
	var put WriteResult
	s.asked(200, &put, "PUT", path, string(r.body), "Content-Type", "application/json")
	if put.Status != "unchanged" {
		t.Errorf("put back: %+v", put)
	}
	bad := `{"text":"a zebra","heading":"A"}`
	if p := s.send("PUT", "/v1/passages/new", bad, "Content-Type", "application/json").problem(t); p.Code != "unknown_field" {
		t.Errorf("a heading of no document: %+v", p)
	}
}
