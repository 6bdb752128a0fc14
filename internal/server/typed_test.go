package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/disk"
)

// TestMisfitsAreRefused: a passage or document with a value that does not fit the declared type of its field is
// refused, by whichever way it comes, with the field, the value and how to write it; the others are taken.
func TestMisfitsAreRefused(t *testing.T) {
	site := newSite(t, named("small"), "small")
	site.write(
		filepath.Join("c", collections.SettingsFile), "fields: {price: number, zip: keyword, on: date, sold: bool}\n",
	)
	s := site.serve()
	refused := func(method, path, body string) string {
		t.Helper()
		var p schema.Problem
		s.call(method, path, body, http.StatusUnprocessableEntity, &p)
		if len(p.Errors) == 0 {
			return p.Code + " " + p.Detail
		}
		return p.Code + " " + p.Errors[0].Pointer + " " + p.Errors[0].Detail
	}
	for metadata, want := range map[string]string{
		`{"price":"cheap"}`: `invalid_passage /metadata/price ("cheap") does not fit the field, which is declared as number: write a number`,
		`{"zip":1234}`:      `/metadata/zip (1234) does not fit the field, which is declared as keyword: write a text, between quotes`,
		`{"on":"May"}`:      `/metadata/on ("May") does not fit the field, which is declared as date: write a day`,
		`{"sold":"yes"}`:    `/metadata/sold ("yes") does not fit the field, which is declared as bool: write true or false`,
	} {
		got := refused(http.MethodPut, "/v1/passages/x", `{"text":"x","metadata":`+metadata+`}`)
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", metadata, got)
		}
	}
	s.call(http.MethodGet, "/v1/passages/x", "", http.StatusNotFound, nil)
	s.call(
		http.MethodPut,
		"/v1/passages/y?refresh=wait",
		`{"text":"x","metadata":{"price":"12.5","zip":"07","on":"2024-05-01","sold":true,"other":"x"}}`,
		http.StatusCreated,
		nil,
	)
	sent := func(method, path, contentType, body string) string {
		t.Helper()
		request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", contentType)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		answer, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	var lines []handlers.UploadLine
	for line := range strings.Lines(sent(http.MethodPost, "/v1/passages", "application/x-ndjson",
		`{"id":"a","text":"x","metadata":{"price":1}}`+"\n"+`{"id":"b","text":"x","metadata":{"price":"n/a"}}`+"\n"+
			`{"id":"c","text":"x"}`+"\n")) {
		var l handlers.UploadLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	if len(lines) != 3 || lines[0].Status != "created" || lines[1].Status != "rejected" || lines[2].Status != "created" ||
		lines[1].ID != "b" ||
		lines[1].Error == nil ||
		!strings.Contains(lines[1].Error.Detail, `"n/a"`) {
		t.Errorf("%+v", lines)
	}
	document := sent(
		http.MethodPut,
		"/v1/documents/d.txt?metadata="+url.QueryEscape(`{"price":"low"}`),
		"text/plain",
		"On lamps.",
	)
	if !strings.Contains(document, "invalid_document") || !strings.Contains(document, `metadata.price`) {
		t.Error(document)
	}
}

// TestServedSettings: synonyms and types that are put hold at once, beside what the settings say otherwise, survive
// a restart, and values that were there and do not fit are named.
func TestServedSettings(t *testing.T) {
	site := newSite(t, named("small"), "small")
	site.write(filepath.Join("c", collections.SettingsFile), "description: lamps\nfields: {year: date}\n")
	s := site.serve()
	for id, price := range map[string]string{"a": "12", "b": `"n/a"`, "c": `"n/a"`, "d": `"7.5"`, "e": "true"} {
		s.call(
			http.MethodPut,
			"/v1/passages/"+id+"?refresh=wait",
			`{"text":"x","metadata":{"price":`+price+`}}`,
			http.StatusCreated,
			nil,
		)
	}
	for _, path := range []string{"/v1/search?q=x&", "/v1/passages?", "/v1/documents?", "/v1/passages?dry_run=true&"} {
		method := http.MethodGet
		if strings.Contains(path, "dry") {
			method = http.MethodDelete
		}
		var p schema.Problem
		s.call(
			method,
			path+"filter="+url.QueryEscape(`{"field":"price","gt":"2024-01-01"}`),
			"",
			http.StatusUnprocessableEntity,
			&p,
		)
		if p.Code != "wrong_type" ||
			!strings.HasSuffix(p.Errors[0].Detail, `its most frequent values are "n/a", "7.5", 12`) ||
			p.Errors[0].Parameter != "filter" {
			t.Errorf("%s: %+v", path, p)
		}
	}
	const put = `{"synonyms":[{"from":["luminaire"],"to":["lamp"]}],"fields":{"price":"number"}}`
	var now handlers.SettingsAnswer
	s.call(http.MethodPut, "/v1/admin/settings", put, http.StatusOK, &now)
	check := func() {
		t.Helper()
		if len(now.Misfits) != 1 || now.Misfits[0].Field != "price" || now.Misfits[0].Passages != 3 ||
			len(
				now.Misfits[0].Values,
			) != 2 || now.Misfits[0].Values[0].Value.Any() != "n/a" || now.Misfits[0].Values[0].Count != 2 ||
			now.Fields["price"] != "number" || len(now.Fields) != 1 || len(now.Synonyms) != 1 {
			t.Errorf("%+v", now)
		}
		if ids := s.find("luminaire"); len(ids) != 1 || ids[0] != "2" {
			t.Errorf("%v", ids)
		}
	}
	check()
	s.call(
		http.MethodPut,
		"/v1/passages/f",
		`{"text":"x","metadata":{"price":"n/a"}}`,
		http.StatusUnprocessableEntity,
		nil,
	)
	for _, wrong := range []string{`{"fields":{"price":"money"}}`, `{"synonyms":[{"words":["alone"]}]}`} {
		s.call(http.MethodPut, "/v1/admin/settings", wrong, http.StatusUnprocessableEntity, nil)
	}
	s.end()
	s = site.serve()
	now = handlers.SettingsAnswer{}
	s.call(http.MethodGet, "/v1/admin/settings", "", http.StatusOK, &now)
	check()
	said, _, err := collections.Read(disk.OS{}, filepath.Join(site.dir, "c"))
	if err != nil || said.Description != "lamps" {
		t.Errorf("%+v, %v", said, err)
	}
	now = handlers.SettingsAnswer{}
	s.call(http.MethodPut, "/v1/admin/settings", `{}`, http.StatusOK, &now)
	if ids := s.find("luminaire"); len(ids) != 0 || len(now.Synonyms)+len(now.Fields)+len(now.Misfits) != 0 {
		t.Errorf("%v, %+v", ids, now)
	}
}
