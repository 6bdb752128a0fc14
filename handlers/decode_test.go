package handlers

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
)

// FuzzParseJSON compares the strict reader with encoding/json. What it takes
// means the same to both; what it refuses is no JSON to either, or is one of
// the things that it is there to refuse.
func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{
		`{"question":"x","k":1}`, `{"a":{"a":1},"b":[{"a":1}]}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `"\ud83d\ude00"`, `"\ud83d"`, `"\\ud83d"`, `"\ude00\ud83d"`,
		"\"\xff\"", `[[[[]]]]`, `1e999`, `-0`, ` null `, `{} {}`, "\ufeff{}", `{"":""}`, strings.Repeat("[", 20) + strings.Repeat("]", 20), `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, problem := schema.ParseJSON(data)
		if problem == nil {
			decoder := json.NewDecoder(bytes.NewReader(data))
			decoder.UseNumber()
			var want any
			if err := decoder.Decode(&want); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: %#v, want %#v (%v)", data, got, want, err)
			}
			if !utf8.Valid(data) {
				t.Fatalf("%q was taken", data)
			}
			return
		}
		switch problem.Code {
		case "not_json":
			if json.Valid(data) {
				t.Fatalf("%q is JSON", data)
			}
		case "invalid_utf8":
			// What the library would have repaired has U+FFFD in its place.
			var repaired any
			if err := json.Unmarshal(data, &repaired); err == nil {
				text, err := json.Marshal(repaired)
				if err != nil {
					t.Fatal(err)
				}
				// A repaired key may have become equal to another one, and so be lost.
				if !bytes.Contains(text, []byte("\ufffd")) && !bytes.Contains(text, []byte(`\ufffd`)) &&
					!bytes.Contains(data, []byte("{")) {
					t.Fatalf("%q has nothing to repair: %q", data, text)
				}
			}
		case "duplicate_key", "too_deep":
			if !json.Valid(data) {
				t.Fatalf("%q is no JSON", data)
			}
		default:
			t.Fatalf("%q: %+v", data, problem)
		}
	})
}

// FuzzSearchBody puts anything through the whole of decoding: a request whose
// values are those that were written, or a problem with a 4xx.
func FuzzSearchBody(f *testing.F) {
	f.Add(
		[]byte(
			`{"question":"how","k":3.0,"fusion":["rrf"],"experts":null,"bm25":false,"weights":{"a.b[0]":1e0},"timeout_ms":1e3}`,
		),
	)
	f.Add([]byte(`{"question":"how","k":9007199254740993,"fusion":{},"fields":[["title"]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		body, problem := schema.ParseJSON(data)
		if problem == nil {
			_, problem = searchRequest(
				search.Limits{K: 1000, Candidates: 1000, Timeout: 10 * time.Second}, body, schema.MaxViolations,
			)
		}
		if problem != nil {
			if problem.Status < 400 || problem.Status >= 500 || problem.Detail == "" {
				t.Fatalf("%q: %+v", data, problem)
			}
			if text, err := json.Marshal(problem); err != nil || len(text) > 16<<10 {
				t.Fatalf("%q: a problem of %d bytes, %v", data, len(text), err)
			}
			return
		}
		var want struct{ Question string }
		if err := json.Unmarshal(data, &want); err != nil && !strings.Contains(string(data), "e") {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

// TestIntegers takes whole numbers however they are written.
func TestIntegers(t *testing.T) {
	for text, want := range map[string]int{"10": 10, "10.0": 10, "1e1": 10, "1E+1": 10, "100e-1": 10, "1.0e1": 10} {
		body, problem := schema.ParseJSON([]byte(`{"question":"x","k":` + text + `}`))
		if problem != nil {
			t.Fatal(problem)
		}
		request, problem := searchRequest(
			search.Limits{K: 1000, Candidates: 1000, Timeout: 10 * time.Second}, body, schema.MaxViolations,
		)
		if problem != nil || request.K != want {
			t.Errorf("%s: %d, %v", text, request.K, problem)
		}
	}
}

// TestSchemaIsTheEngines has the engine know every value that the schema
// lists.
func TestSchemaIsTheEngines(t *testing.T) {
	s := start(t, Options{})
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	properties := at(c.document, "components", "schemas", "SearchRequest", "properties").(map[string]any)
	n := 0
	for name, property := range properties {
		values, _ := at(property, "enum").([]any)
		list := false
		if values == nil {
			values, _ = at(property, "items", "enum").([]any)
			list = true
		}
		if alternatives, ok := at(property, "oneOf").([]any); ok && name == "fusion" {
			values, _ = at(c.document, "components", "schemas", "Method", "enum").([]any)
			list = len(alternatives) == 0
		}
		for _, value := range values {
			n++
			body := map[string]any{"question": "bees", "experts": []string{"wiki", "health"}, "fusion": "sum"}
			body[name] = value
			if name == "weighting" {
				body["fusion"] = "muf"
			}
			if list {
				body[name] = []any{value}
			}
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			r := s.post("/v1/search", string(text))
			if (value == "cce" || name == "weighting") && strings.Contains(string(r.body), `"code":"needs_experts"`) {
				continue // it is known, and none of these experts has vectors of parts, or knows its domain
			}
			if r.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", text, r.body)
			}
		}
	}
	if n < 6+2+4+4 {
		t.Errorf("%d values were tried", n)
	}
}
