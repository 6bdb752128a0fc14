package handlers

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
)

// TestForgivingUpload: what `conclave index` reads is taken in an upload too, in
// every form that a body may have, and fields that are not known are told once.
func TestForgivingUpload(t *testing.T) {
	s := startWriting(t, writingOptions{})
	objects := []string{
		`{"_id":"beir","title":"T","text":"zebra one","url":"x"}`,
		`{"id":"anserini","contents":"\"Title\"\nzebra two","url":"y","docid":3}`,
		`{"id":42,"text":"zebra three","title":null,"tags":null,"metadata":{"year":null,"by":"me"}}`,
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(strings.Join(objects, "\n")))
	_ = z.Close()
	for name, c := range map[string]struct {
		contentType, body string
		header            []string
	}{
		"ndjson": {schema.TypeLines, strings.Join(objects, "\n"), nil},
		"jsonl":  {"application/jsonl", strings.Join(objects, "\n"), nil},
		"list":   {schema.TypeJSON, " [" + strings.Join(objects, " ,\n") + "]\n", nil},
		"gzip":   {schema.TypeLines, packed.String(), []string{"Content-Encoding", "gzip"}},
	} {
		r := s.send(
			http.MethodPost,
			"/v1/passages?refresh=wait",
			c.body,
			append([]string{"Content-Type", c.contentType}, c.header...)...)
		lines, last := parseAnswer(t, r.body)
		if r.StatusCode != http.StatusOK || last != nil || len(lines) != 3 {
			t.Fatalf("%s: %d %s", name, r.StatusCode, r.body)
		}
		var unknown []string
		for _, line := range lines {
			if line.Error != nil {
				t.Errorf("%s: %+v", name, line.Error)
			}
			unknown = append(unknown, line.Unknown...)
		}
		slices.Sort(unknown)
		if fmt.Sprint(unknown) != "[docid url]" {
			t.Errorf("%s: unknown fields %v", name, unknown)
		}
		for id, want := range map[string]string{"beir": `{"id":"beir","title":"T","text":"zebra one"}`, "anserini": `{"id":"anserini","title":"Title","text":"zebra two"}`, "42": `{"id":"42","text":"zebra three","metadata":{"by":"me"}}`} {
			if got := strings.TrimSpace(string(s.send(http.MethodGet, "/v1/passages/"+id, "").body)); got != want {
				t.Errorf("%s: %s\nwant %s", name, got, want)
			}
			_ = s.send(http.MethodDelete, "/v1/passages/"+id+"?refresh=wait", "")
		}
	}
	// The same as the corpus's own reader makes of them.
	for _, object := range objects {
		file, err := corpus.Open(corpus.Input{Path: "-", Stdin: strings.NewReader(object)})
		if err != nil {
			t.Fatal(err)
		}
		want, err := file.Next()
		if err != nil {
			t.Fatal(err)
		}
		got, p := s.api.parsePassage(
			[]byte(object), func(o map[string]any) *schema.Problem { return normaliseLine(o, func(string) {}) },
		)
		if a, _ := json.Marshal(got); p != nil || string(a) != mustJSON(t, want) {
			t.Errorf("%s: %s, %v, want %s", object, a, p, mustJSON(t, want))
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRejectedUpload: where every line is rejected the status says so, and the
// lines say why; strict takes no field that is not known; and what is no list is
// no upload.
func TestRejectedUpload(t *testing.T) {
	s := startWriting(t, writingOptions{})
	post := func(path, contentType, body string) received {
		request, _ := http.NewRequest(http.MethodPost, "http://"+s.address+path, strings.NewReader(body))
		request.Header.Set("Content-Type", contentType)
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := readAll(response)
		if err != nil {
			t.Fatal(err)
		}
		return received{response, text}
	}
	r := post("/v1/passages?strict=true", schema.TypeLines, `{"id":"a","text":"b","url":"x"}`+"\n"+`{"id":"b"}`)
	lines, last := parseAnswer(t, r.body)
	if r.StatusCode != http.StatusUnprocessableEntity || last != nil || len(lines) != 2 ||
		lines[0].Error.Code != "unknown_field" ||
		lines[1].Error.Code != "missing_field" ||
		r.Header.Get("Content-Type") != schema.TypeLines {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	r = post("/v1/passages", schema.TypeLines, `{"id":"a","text":"b","_id":"c"}`)
	if r.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	for body, code := range map[string]string{`{"id":"a","text":"b"}`: "not_json", `[{"id":"a","text":"b"}] x`: "not_json", `[{"id":"a","text":"b"}`: "incomplete_body", `[{"id":]`: "not_json", `[]`: ""} {
		r := post("/v1/passages", schema.TypeJSON, body)
		if got := string(r.body); code != "" && !strings.Contains(got, `"code":"`+code+`"`) ||
			code == "" && (got != "" || r.StatusCode != http.StatusOK) {
			t.Errorf("%s: %d %s", body, r.StatusCode, r.body)
		}
	}
	// A megabyte of spaces in a kilobyte is no way around the limit.
	small := startWriting(t, writingOptions{Options: Options{Write: WriteLimits{UploadBytes: 100_000}}})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(bytes.Repeat([]byte("\n"), 10<<20))
	_ = z.Close()
	if p := small.send(http.MethodPost, "/v1/passages", packed.String(), "Content-Type", schema.TypeLines, "Content-Encoding", "gzip").problem(t); p.Code != "body_too_large" {
		t.Errorf("%+v", p)
	}
}
