package handlers

import (
	"bytes"
	"mime/multipart"
	"testing"

	"golang.org/x/text/encoding/charmap"
)

// TestUploadsWithEncoding: a text is read in the encoding that the upload names, as a parameter or in its form; the
// bytes are too few for a guess.
func TestUploadsWithEncoding(t *testing.T) {
	s := startWriting(t, writingOptions{})
	const text = "Ёж идёт."
	data, err := charmap.KOI8R.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	textOf := func(id string) string {
		t.Helper()
		var d DocumentAnswer
		s.asked(200, &d, "GET", "/v1/documents/"+id+"?text=true", "")
		return d.Text
	}
	s.asked(201, nil, "PUT", "/v1/documents/query.txt?encoding=koi8-r", data, "Content-Type", "text/plain")
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("encoding", "KOI8-R")
	file, err := w.CreateFormFile("file", "hedgehog.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.Write([]byte(data))
	_ = w.Close()
	s.asked(201, nil, "PUT", "/v1/documents/form.txt", form.String(), "Content-Type", w.FormDataContentType())
	for _, id := range []string{"query.txt", "form.txt"} {
		if got := textOf(id); got != text {
			t.Errorf("%s: %q", id, got)
		}
	}
	for _, path := range []string{"/v1/documents/x.txt?encoding=klingon", "/v1/documents?encoding=klingon"} {
		method := "PUT"
		if path[13] == '?' {
			method = "POST"
		}
		if p := s.send(method, path, data, "Content-Type", "application/zip").problem(t); p.Code != "unknown_value" ||
			p.Errors[0].Parameter != "encoding" {
			t.Errorf("%s: %+v", path, p)
		}
	}
}
