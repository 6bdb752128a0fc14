package handlers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// TestErrors goes through everything that the interface promises to refuse.
func TestErrors(t *testing.T) {
	s := start(t, Options{})
	json := []string{"Content-Type", "application/json"}
	longQuestion := strings.Repeat("a", 8<<10+1)
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	tooMany := `{"searches":[` + strings.Repeat(`{"question":"x"},`, 100) + `{"question":"x"}]}`
	for name, c := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		code, pointer      string
	}{
		"no JSON":                   {"POST", "/v1/search", `question=x`, json, 400, "not_json", ""},
		"cut JSON":                  {"POST", "/v1/search", `{"question":"x"`, json, 400, "not_json", ""},
		"two JSON texts":            {"POST", "/v1/search", `{"question":"x"} {}`, json, 400, "not_json", ""},
		"empty body":                {"POST", "/v1/search", ` `, json, 400, "not_json", ""},
		"no body":                   {"POST", "/v1/search", ``, json, 400, "not_json", ""},
		"byte order mark":           {"POST", "/v1/search", "\ufeff{}", json, 400, "not_json", ""},
		"comment":                   {"POST", "/v1/search", `{"question":"x"} // hi`, json, 400, "not_json", ""},
		"NaN":                       {"POST", "/v1/search", `{"question":"x","k":NaN}`, json, 400, "not_json", ""},
		"a list":                    {"POST", "/v1/search", `[]`, json, 422, "wrong_type", ""},
		"null":                      {"POST", "/v1/search", `null`, json, 422, "wrong_type", ""},
		"invalid UTF-8":             {"POST", "/v1/search", "{\"question\":\"caf\xe9\"}", json, 400, "invalid_utf8", ""},
		"invalid UTF-8 in a key":    {"POST", "/v1/search", "{\"questio\xff\":\"x\"}", json, 400, "invalid_utf8", ""},
		"half a surrogate pair":     {"POST", "/v1/search", `{"question":"\ud83d x"}`, json, 400, "invalid_utf8", ""},
		"surrogates in wrong order": {"POST", "/v1/search", `{"question":"\ude00\ud83d"}`, json, 400, "invalid_utf8", ""},
		"raw control character":     {"POST", "/v1/search", "{\"question\":\"a\nb\"}", json, 400, "not_json", ""},
		"a key twice":               {"POST", "/v1/search", `{"question":"x","k":1,"k":2}`, json, 400, "duplicate_key", "/k"},
		"a key twice, escaped":      {"POST", "/v1/search", `{"question":"x","\u0071uestion":"y"}`, json, 400, "duplicate_key", "/question"},
		"a weight twice":            {"POST", "/v1/search", `{"question":"x","weights":{"a/b":1,"a/b":2}}`, json, 400, "duplicate_key", "/weights/a~1b"},
		"unknown field": {"POST", "/v1/search", `{"question":"x","top_k":1}`, json, 400, "unknown_field",
			"/top_k"},
		"other case":              {"POST", "/v1/search", `{"Question":"x"}`, json, 400, "unknown_field", "/Question"},
		"empty key":               {"POST", "/v1/search", `{"question":"x","":1}`, json, 400, "unknown_field", "/"},
		"unknown field of filter": {"POST", "/v1/search", `{"question":"x","filter":{"tags":["a"]}}`, json, 400, "unknown_field", "/filter/tags"},
		"prototype":               {"POST", "/v1/search", `{"question":"x","__proto__":{}}`, json, 400, "unknown_field", "/__proto__"},
		"no question":             {"POST", "/v1/search", `{}`, json, 400, "missing_field", "/question"},
		"another's question":      {"POST", "/v1/search", `{"query":"x"}`, json, 400, "unknown_field", "/query"},
		"empty question":          {"POST", "/v1/search", `{"question":""}`, json, 400, "empty_question", "/question"},
		"blank question":          {"POST", "/v1/search", `{"question":" \t\u00a0\u3000\u200b\u200f\u0000 "}`, json, 400, "empty_question", "/question"},
		"null question":           {"POST", "/v1/search", `{"question":null}`, json, 422, "wrong_type", "/question"},
		"deep JSON":               {"POST", "/v1/search", deep, json, 400, "not_json", ""},
		"less deep JSON":          {"POST", "/v1/search", `{"question":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "}", json, 400, "too_deep", ""},

		"k is text":         {"POST", "/v1/search", `{"question":"x","k":"ten"}`, json, 422, "wrong_type", "/k"},
		"k is half":         {"POST", "/v1/search", `{"question":"x","k":1.5}`, json, 422, "wrong_type", "/k"},
		"k is null":         {"POST", "/v1/search", `{"question":"x","k":null}`, json, 422, "wrong_type", "/k"},
		"k is 0":            {"POST", "/v1/search", `{"question":"x","k":0}`, json, 422, "out_of_range", "/k"},
		"k is -1":           {"POST", "/v1/search", `{"question":"x","k":-1}`, json, 422, "out_of_range", "/k"},
		"k is -0":           {"POST", "/v1/search", `{"question":"x","k":-0}`, json, 422, "out_of_range", "/k"},
		"k is above":        {"POST", "/v1/search", `{"question":"x","k":1001}`, json, 422, "out_of_range", "/k"},
		"k is huge":         {"POST", "/v1/search", `{"question":"x","k":99999999999999999999}`, json, 422, "out_of_range", "/k"},
		"k is beyond":       {"POST", "/v1/search", `{"question":"x","k":1e999}`, json, 422, "out_of_range", "/k"},
		"candidates":        {"POST", "/v1/search", `{"question":"x","candidates":1001}`, json, 422, "out_of_range", "/candidates"},
		"timeout":           {"POST", "/v1/search", `{"question":"x","timeout_ms":3600000}`, json, 422, "out_of_range", "/timeout_ms"},
		"weight is text":    {"POST", "/v1/search", `{"question":"x","weights":{"bm25":"1"}}`, json, 422, "wrong_type", "/weights/bm25"},
		"weight below zero": {"POST", "/v1/search", `{"question":"x","weights":{"bm25":-1}}`, json, 422, "out_of_range", "/weights/bm25"},
		"weight of nobody":  {"POST", "/v1/search", `{"question":"x","weights":{"x.y":1}}`, json, 422, "unknown_source", "/weights/x.y"},
		"filter is null":    {"POST", "/v1/search", `{"question":"x","filter":null}`, json, 422, "wrong_type", "/filter"},
		"filter is a list":  {"POST", "/v1/search", `{"question":"x","filter":["a"]}`, json, 422, "wrong_type", "/filter"},
		"eq is a list":      {"POST", "/v1/search", `{"question":"x","filter":{"field":"a","eq":["b"]}}`, json, 422, "wrong_type", "/filter/eq"},
		"an empty in":       {"POST", "/v1/search", `{"question":"x","filter":{"field":"a","in":[]}}`, json, 422, "out_of_range", "/filter/in"},
		"no comparison":     {"POST", "/v1/search", `{"question":"x","filter":{"and":[{"field":"a"}]}}`, json, 422, "empty_condition", "/filter/and/0/field"},
		"no field":          {"POST", "/v1/search", `{"question":"x","filter":{"not":{"eq":7}}}`, json, 422, "empty_condition", "/filter/not/field"},
		"an empty inner":    {"POST", "/v1/search", `{"question":"x","filter":{"or":[{"field":"a","exists":true},{}]}}`, json, 422, "empty_condition", "/filter/or/1"},
		"an unknown one":    {"POST", "/v1/search", `{"question":"x","filter":{"not":{"field":"a","ne":7}}}`, json, 400, "unknown_field", "/filter/not/ne"},
		"bounds unlike":     {"POST", "/v1/search", `{"question":"x","filter":{"field":"a","gt":7,"lt":"z"}}`, json, 422, "wrong_type", "/filter/lt"},
		"tags is text":      {"POST", "/v1/search", `{"question":"x","filter":{"tags_all":"a"}}`, json, 422, "wrong_type", "/filter/tags_all"},
		"a tag is 7":        {"POST", "/v1/search", `{"question":"x","filter":{"tags_any":["a",7]}}`, json, 422, "wrong_type", "/filter/tags_any/1"},
		"an empty tag":      {"POST", "/v1/search", `{"question":"x","filter":{"tags_any":["a",""]}}`, json, 422, "empty_tag", "/filter/tags_any/1"},
		"a long tag":        {"POST", "/v1/search", `{"question":"x","filter":{"tags_all":["` + strings.Repeat("t", 257) + `"]}}`, json, 422, "tag_too_long", "/filter/tags_all/0"},
		"many tags":         {"POST", "/v1/search", `{"question":"x","filter":{"tags_all":[` + strings.Repeat(`"t",`, storage.MaxFilterTags) + `"t"]}}`, json, 422, "too_many_tags", "/filter/tags_all"},
		"unknown expert":    {"POST", "/v1/search", `{"question":"x","experts":["wiki","nobody"]}`, json, 422, "unknown_expert", "/experts/1"},
		"experts is text": {"POST", "/v1/search", `{"question":"x","experts":"wiki"}`, json, 422, "wrong_type",
			"/experts"},
		"an expert is 7":      {"POST", "/v1/search", `{"question":"x","experts":["wiki",7]}`, json, 422, "wrong_type", "/experts/1"},
		"unknown method":      {"POST", "/v1/search", `{"question":"x","fusion":"magic"}`, json, 422, "unknown_method", "/fusion"},
		"unknown method in":   {"POST", "/v1/search", `{"question":"x","fusion":["rrf","magic"]}`, json, 422, "unknown_method", "/fusion/1"},
		"no methods":          {"POST", "/v1/search", `{"question":"x","fusion":[]}`, json, 422, "out_of_range", "/fusion"},
		"fusion is 7":         {"POST", "/v1/search", `{"question":"x","fusion":7}`, json, 422, "wrong_type", "/fusion"},
		"fusion is empty":     {"POST", "/v1/search", `{"question":"x","fusion":""}`, json, 422, "unknown_method", "/fusion"},
		"missing":             {"POST", "/v1/search", `{"question":"x","missing":"zero"}`, json, 422, "unknown_value", "/missing"},
		"fields":              {"POST", "/v1/search", `{"question":"x","fields":["title","body"]}`, json, 422, "unknown_value", "/fields/1"},
		"nothing to search":   {"POST", "/v1/search", `{"question":"x","experts":[],"bm25":false}`, json, 422, "no_sources", "/experts"},
		"hybrid without BM25": {"POST", "/v1/search", `{"question":"x","fusion":"hybrid","bm25":false,"experts":["wiki"]}`, json, 422, "needs_bm25", "/fusion"},
		"MUF, uncalibrated":   {"POST", "/v1/search", `{"question":"x","fusion":"muf","experts":["plain"]}`, json, 422, "needs_experts", "/fusion"},
		"threshold of RRF":    {"POST", "/v1/search", `{"question":"x","fusion":"rrf","min_confidence":0.5}`, json, 422, "needs_calibration", "/min_confidence"},
		"normalised RRF":      {"POST", "/v1/search", `{"question":"x","fusion":"rrf","normalisation":"minmax"}`, json, 422, "unused_option", "/normalisation"},
		"form before value":   {"POST", "/v1/search", `{"question":"x","k":0,"zzz":1}`, json, 400, "unknown_field", "/k"},

		"long question":        {"POST", "/v1/search", `{"question":"` + longQuestion + `"}`, json, 413, "too_long", "/question"},
		"large body":           {"POST", "/v1/search", strings.Repeat(" ", 1<<20+1), json, 413, "body_too_large", ""},
		"large batch":          {"POST", "/v1/search/batch", tooMany, json, 413, "batch_too_large", "/searches"},
		"empty batch":          {"POST", "/v1/search/batch", `{"searches":[]}`, json, 422, "out_of_range", "/searches"},
		"batch of nothing":     {"POST", "/v1/search/batch", `{}`, json, 400, "missing_field", "/searches"},
		"batch, unknown field": {"POST", "/v1/search/batch", `{"searches":[{"question":"x"}],"k":1}`, json, 400, "unknown_field", "/k"},
		"batch is a list":      {"POST", "/v1/search/batch", `[{"question":"x"}]`, json, 422, "wrong_type", ""},

		"embed nobody": {"POST", "/v1/embed", `{"expert":"nobody","input":["x"]}`, json, 422, "unknown_expert",
			"/expert"},
		"embed nothing":    {"POST", "/v1/embed", `{"expert":"wiki","input":[]}`, json, 422, "out_of_range", "/input"},
		"embed without":    {"POST", "/v1/embed", `{"expert":"wiki"}`, json, 400, "missing_field", "/input"},
		"embed text":       {"POST", "/v1/embed", `{"expert":"wiki","input":"x"}`, json, 422, "wrong_type", "/input"},
		"embed too many":   {"POST", "/v1/embed", `{"expert":"wiki","input":[` + strings.Repeat(`"x",`, 256) + `"x"]}`, json, 413, "too_many_inputs", "/input"},
		"embed too long":   {"POST", "/v1/embed", `{"expert":"wiki","input":["` + strings.Repeat("x", 64<<10+1) + `"]}`, json, 413, "too_long", "/input/0"},
		"embed other kind": {"POST", "/v1/embed", `{"expert":"wiki","input":["x"],"kind":"query"}`, json, 422, "unknown_value", "/kind"},
		"embed an empty one": {"POST", "/v1/embed", `{"expert":"wiki","input":["x",""]}`, json, 422, "empty_text",
			"/input/1"},

		"GET without q":     {"GET", "/v1/search", "", nil, 400, "missing_field", "/q"},
		"GET without words": {"GET", "/v1/search?q=", "", nil, 400, "empty_question", "/q"},
		"GET empty q":       {"GET", "/v1/search?q=+", "", nil, 400, "empty_question", "/q"},
		"GET unknown":       {"GET", "/v1/search?q=x&top=1", "", nil, 400, "unknown_parameter", "/top"},
		"GET question":      {"GET", "/v1/search?question=x", "", nil, 400, "unknown_parameter", "/question"},
		"GET weights":       {"GET", "/v1/search?q=x&weights=bm25", "", nil, 400, "unknown_parameter", "/weights"},
		"GET other case":    {"GET", "/v1/search?Q=x", "", nil, 400, "unknown_parameter", "/Q"},
		"GET repeated":      {"GET", "/v1/search?q=x&q=y", "", nil, 400, "repeated_parameter", "/q"},
		"GET experts twice": {"GET", "/v1/search?q=x&experts=wiki&experts=health", "", nil, 400, "repeated_parameter", "/experts"},
		"GET k is text":     {"GET", "/v1/search?q=x&k=ten", "", nil, 422, "wrong_type", "/k"},
		"GET k is above":    {"GET", "/v1/search?q=x&k=1001", "", nil, 422, "out_of_range", "/k"},
		"GET k is empty":    {"GET", "/v1/search?q=x&k=", "", nil, 422, "wrong_type", "/k"},
		"GET bool":          {"GET", "/v1/search?q=x&exact=yes", "", nil, 422, "wrong_type", "/exact"},
		"an empty word": {"POST", "/v1/search", `{"question":"x","must":["a","?"]}`, json, 422, "empty_word",
			"/must/1"},
		"a long word":       {"POST", "/v1/search", `{"question":"x","must_not":["` + strings.Repeat("t", 600) + `"]}`, json, 422, "word_too_long", "/must_not/0"},
		"many words":        {"POST", "/v1/search", `{"question":"x","must":[` + strings.Repeat(`"t",`, 64) + `"t"]}`, json, 422, "too_many_words", "/must"},
		"GET an empty word": {"GET", "/v1/search?q=x&must_not=a,,b", "", nil, 422, "empty_word", "/must_not/1"},
		"GET an empty tag":  {"GET", "/v1/search?q=x&tags_any=a,,b", "", nil, 422, "empty_tag", "/tags_any/1"},
		"GET tags twice": {"GET", "/v1/search?q=x&tags_all=a&tags_all=b", "", nil, 400, "repeated_parameter",
			"/tags_all"},
		"GET filter":          {"GET", "/v1/search?q=x&filter=a", "", nil, 400, "invalid_query", "/filter"},
		"GET unknown expert":  {"GET", "/v1/search?q=x&experts=wiki,nobody", "", nil, 422, "unknown_expert", "/experts/1"},
		"GET bad percent":     {"GET", "/v1/search?q=100%zz", "", nil, 400, "invalid_query", ""},
		"GET semicolon":       {"GET", "/v1/search?q=a;b", "", nil, 400, "invalid_query", ""},
		"GET invalid UTF-8":   {"GET", "/v1/search?q=caf%e9", "", nil, 400, "invalid_utf8", ""},
		"GET with a body":     {"GET", "/v1/search?q=x", "{}", json, 400, "unexpected_body", ""},
		"parameter elsewhere": {"GET", "/v1/limits?x=1", "", nil, 400, "unknown_parameter", ""},

		"no such path":       {"GET", "/v2/search", "", nil, 404, "no_such_path", ""},
		"trailing slash":     {"POST", "/v1/search/", "{}", json, 404, "no_such_path", ""},
		"encoded path":       {"GET", "/%2e%2e/etc/passwd", "", nil, 404, "no_such_path", ""},
		"not yet a path":     {"POST", "/v1/merge", "{}", json, 404, "no_such_path", ""},
		"no such passage":    {"GET", "/v1/passages/nobody", "", nil, 404, "unknown_passage", ""},
		"no such expert":     {"GET", "/v1/experts/nobody", "", nil, 404, "expert_not_found", ""},
		"DELETE":             {"DELETE", "/v1/search", "", nil, 405, "method_not_allowed", ""},
		"POST where GET":     {"POST", "/v1/limits", "{}", json, 405, "method_not_allowed", ""},
		"GET where POST":     {"GET", "/v1/embed", "", nil, 405, "method_not_allowed", ""},
		"PATCH a passage":    {"PATCH", "/v1/passages/a%2Fb", "{}", json, 405, "method_not_allowed", ""},
		"no method at all":   {"BREW", "/v1/search", "", nil, 405, "method_not_allowed", ""},
		"no method, no path": {"BREW", "/v2", "", nil, 404, "no_such_path", ""},
		"TRACE":              {"TRACE", "/livez", "", nil, 405, "method_not_allowed", ""},

		"accepts XML":            {"GET", "/v1/search?q=x", "", []string{"Accept", "application/xml"}, 406, "not_acceptable", ""},
		"accepts no JSON":        {"GET", "/livez", "", []string{"Accept", "application/json;q=0, */*"}, 406, "not_acceptable", ""},
		"accepts problems alone": {"POST", "/v1/search", `{"question":"x"}`, []string{"Content-Type", "application/json", "Accept", "application/problem+json"}, 406, "not_acceptable", ""},
		"accepts rubbish":        {"GET", "/livez", "", []string{"Accept", "///,;;"}, 406, "not_acceptable", ""},
		"YAML as JSON":           {"GET", "/openapi.yaml", "", []string{"Accept", "application/json"}, 406, "not_acceptable", ""},

		"no Content-Type":      {"POST", "/v1/search", `{"question":"x"}`, nil, 415, "unsupported_media_type", ""},
		"form":                 {"POST", "/v1/search", `question=x`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type", ""},
		"text":                 {"POST", "/v1/search", `{"question":"x"}`, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type", ""},
		"another charset":      {"POST", "/v1/search", `{"question":"x"}`, []string{"Content-Type", "application/json; charset=latin1"}, 415, "unsupported_media_type", ""},
		"rubbish Content-Type": {"POST", "/v1/search", `{"question":"x"}`, []string{"Content-Type", "application/json; ; x"}, 415, "unsupported_media_type", ""},
		"two Content-Types":    {"POST", "/v1/search", `{"question":"x"}`, []string{"Content-Type", "application/json", "Content-Type", "text/plain"}, 415, "unsupported_media_type", ""},
		"gzip body":            {"POST", "/v1/search", `{"question":"x"}`, []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, 415, "unsupported_media_type", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.send(c.method, c.path, c.body, c.header...)
			if r.StatusCode != c.status {
				t.Fatalf("got %d %.300s, want %d %s", r.StatusCode, r.body, c.status, c.code)
			}
			p := r.problem(t)
			if p.Code != c.code {
				t.Errorf("code %q, want %q: %s", p.Code, c.code, r.body)
			}
			if c.pointer != "" && (len(p.Errors) == 0 || p.Errors[0].Pointer != c.pointer) {
				t.Errorf("want the pointer %q: %s", c.pointer, r.body)
			}
			if c.status == http.StatusMethodNotAllowed && !strings.Contains(r.Header.Get("Allow"), "OPTIONS") {
				t.Errorf("Allow: %q", r.Header.Get("Allow"))
			}
			if p.Errors != nil && c.method == "GET" && p.Errors[0].Parameter == "" {
				t.Errorf("no parameter: %s", r.body)
			}
			if len(r.body) > 8<<10 {
				t.Errorf("the problem has %d bytes", len(r.body))
			}
		})
	}
}

// TestStrangeText searches for text that must be searched for as it is.
func TestStrangeText(t *testing.T) {
	s := start(t, Options{})
	for _, question := range []string{
		`a\u0000b`, `[SEP] [CLS] [MASK] [UNK] [PAD]`, `\u202eright to left\u202c`, `\u200fשלום`, `\ud83d\ude00`, `\u0001\u001f x`, `\ufffd`, `\ufeffx`,
		`é`, `İẞ`, `\uffff\ufffe`, `</script><b>`, strings.Repeat("w", 8<<10), strings.Repeat(`\\`, 4000), `'; DROP TABLE passages; --`, `?`, `%s%n`,
	} {
		r := s.post("/v1/search", `{"question":"`+question+`","k":1}`)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%.60s: %d %.300s", question, r.StatusCode, r.body)
			continue
		}
		var echoed, sent struct{ Question string }
		mustUnmarshal(t, r.body, &echoed)
		mustUnmarshal(t, []byte(`{"question":"`+question+`"}`), &sent)
		if echoed.Question != sent.Question {
			t.Errorf("%q was read as %q", sent.Question, echoed.Question)
		}
	}
	// A word of 100 kB is over the limit, and says so.
	if p := s.post("/v1/search", `{"question":"`+strings.Repeat("w", 100_000)+`"}`).problem(t); p.Status != 413 {
		t.Errorf("%+v", p)
	}
}

// TestEngineErrors maps each kind of error to its status.
func TestEngineErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"overloaded": {&fault.Error{Kind: fault.Overloaded, Code: "overloaded", Detail: "full"}, 429, "overloaded"},
		"no source":  {&fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: "none"}, 503, "unavailable"},
		"deadline":   {fmt.Errorf("asking: %w", &fault.Error{Kind: fault.Deadline, Code: "deadline", Detail: "late"}), 504, "deadline"},
		"invalid":    {&fault.Error{Kind: fault.Invalid, Code: "needs_calibration", Detail: "a method"}, 422, "needs_calibration"},
		"expert": {&fault.Error{Kind: fault.NotFound, Code: "expert_not_found", Detail: "gone"}, 404,
			"expert_not_found"},
		"context":  {fmt.Errorf("x: %w", context.DeadlineExceeded), 504, "deadline"},
		"anything": {errors.New("secret detail of the inside"), 500, "internal"},
	} {
		p := problemOf(context.Background(), c.err)
		if p.Status != c.status || p.Code != c.code || p.Title == "" || p.Detail == "" {
			t.Errorf("%s: %+v", name, p)
		}
		if strings.Contains(p.Detail, "secret") {
			t.Errorf("%s tells: %s", name, p.Detail)
		}
		if c.status == 429 && p.RetryAfter == 0 {
			t.Errorf("%s: no Retry-After", name)
		}
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if p := problemOf(gone, fmt.Errorf("x: %w", context.Canceled)); p.Status != 499 {
		t.Errorf("%+v", p)
	}
}

// TestUnderLoad has the engine fail in the ways in which it may.
func TestUnderLoad(t *testing.T) {
	query := `{"question":"bees","bm25":false,"experts":["wiki"],"timeout_ms":1000}`
	for name, c := range map[string]struct {
		before func(context.Context) error
		status int
		code   string
	}{
		"full":   {func(context.Context) error { return overloadedError{} }, 429, "overloaded"},
		"broken": {func(context.Context) error { return errors.New("no such device") }, 503, "unavailable"},
		"panics": {func(context.Context) error { panic("at the disco") }, 503, "unavailable"},
		"slow":   {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 504, "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(
				t,
				Options{Engine: testEngine(t, engineOptions{before: c.before, limits: search.Limits{Timeout: time.Second}})},
			)
			for _, path := range []string{"/v1/search", "/v1/embed"} {
				body := query
				if path == "/v1/embed" {
					body = `{"expert":"wiki","input":["x"]}`
				}
				r := s.post(path, body)
				p := r.problem(t)
				if p.Status != c.status || p.Code != c.code || (c.status != 504) != (r.Header.Get("Retry-After") != "") {
					t.Errorf("%s: %s %v", path, r.body, r.Header)
				}
				if strings.Contains(string(r.body), "device") || strings.Contains(string(r.body), "disco") {
					t.Errorf("%s tells of the inside: %s", path, r.body)
				}
			}
			// BM25 still answers, and what is missing is named.
			answer := decodeResponse(t, s.post("/v1/search", `{"question":"bees","timeout_ms":1000}`).body)
			if len(answer.Results) == 0 || len(answer.Degraded) != 3 {
				t.Errorf("%+v", answer)
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			// What a caller's own limit ended is no error of the server's.
			if log := s.log.String(); strings.Contains(log, `"level":"ERROR"`) != (c.status == 503) {
				t.Errorf("the log of %d says %s", c.status, log)
			}
		})
	}
}

// brokenEngine panics outside of every guard of the engine's own.
type brokenEngine struct{ Engine }

func (brokenEngine) Readers() []learned.ReaderInfo { return nil }

func (brokenEngine) Rerankers() []learned.RerankerInfo { return nil }
func (brokenEngine) Methods() []search.MethodInfo      { return nil }
func (brokenEngine) Experts() []learned.ExpertInfo     { panic("on the streets of London") }

func TestPanics(t *testing.T) {
	s := start(t, Options{Engine: brokenEngine{testEngine(t, engineOptions{})}})
	p := s.send(http.MethodGet, "/v1/experts", "").problem(t)
	if p.Status != 500 || p.Code != "internal" || strings.Contains(p.Detail, "London") {
		t.Errorf("%+v", p)
	}
	if log := s.log.String(); !strings.Contains(log, "London") || !strings.Contains(log, p.RequestID) ||
		!strings.Contains(log, "errors_test.go") {
		t.Errorf("the log has no cause: %s", log)
	}
	if r := s.send(http.MethodGet, "/v1/limits", ""); r.StatusCode != http.StatusInternalServerError {
		t.Errorf("%d", r.StatusCode) // it asks for experts as well
	}
	if r := s.send(http.MethodGet, "/livez", ""); r.StatusCode != http.StatusOK {
		t.Errorf("the server did not go on: %d", r.StatusCode)
	}
}

// TestTable keeps the one table of statuses in order.
func TestTable(t *testing.T) {
	for code, c := range schema.APIDocument().Conditions {
		if c.Code != code || code == "" || c.Title == "" || c.Status < 400 || c.Status > 599 ||
			strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" {
			t.Errorf("%+v", c)
		}
		if wants := c.Status == 429 || c.Status == 503; wants != (c.RetryAfter > 0) && code != "rate_limited" {
			t.Errorf("%s: Retry-After %d", code, c.RetryAfter)
		}
	}
}

func mustUnmarshal(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := unmarshal(data, into); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

// TestUnspeakableAnswer has the engine answer with what JSON cannot hold: the
// whole answer becomes a problem, with nothing left of the good one.
func TestUnspeakableAnswer(t *testing.T) {
	s := start(t, Options{Engine: cannedEngine{testEngine(t, engineOptions{}), reply.Response{TookMS: math.NaN()}}})
	r := s.post("/v1/search", `{"question":"bees"}`)
	if p := r.problem(t); p.Code != "internal" || r.Header.Get("Server-Timing") != "" ||
		r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s %v", r.body, r.Header)
	}
}
