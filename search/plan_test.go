package search

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"example.org/conclave/search/fault"

	"pgregory.net/rapid"
)

// TestRefused lists every way in which a request can be wrong, and what it is
// told. Experts A and B are calibrated, c is not.
func TestRefused(t *testing.T) {
	yes := true
	no := false
	none := &[]string{}
	for _, c := range []struct {
		name    string
		request Request
		code    string
		pointer string
		says    string
	}{
		{"no question", Request{}, "empty_question", "/question", "is empty"},
		{"blank question", Request{Question: " \t\u3000\n"}, "empty_question", "/question", "is empty"},
		{"long question", Request{Question: strings.Repeat("é", 5000)}, "too_long", "/question", "has 10000 bytes: at most 8192 are allowed"},
		{"bad UTF-8", Request{Question: "caf\xe9"}, "invalid_utf8", "/question", "not valid UTF-8"},
		{"negative k", Request{K: -1}, "out_of_range", "/k", "k is -1: it has to be from 1 to 1000"},
		{"large k", Request{K: 1001}, "out_of_range", "/k", "k is 1001: it has to be from 1 to 1000"},
		{"candidates", Request{Candidates: 5000}, "out_of_range", "/candidates", "candidates is 5000: it has to be from 1 to 1000"},
		{"negative candidates", Request{Candidates: -7}, "out_of_range", "/candidates", "from 1 to 1000"},
		{"timeout", Request{TimeoutMS: 10001}, "out_of_range", "/timeout_ms", "timeout_ms is 10001: it has to be from 1 to 10000"},
		{"overflowing timeout", Request{TimeoutMS: math.MaxInt}, "out_of_range", "/timeout_ms", "from 1 to 10000"},
		{"negative timeout", Request{TimeoutMS: -1}, "out_of_range", "/timeout_ms", "from 1 to 10000"},
		{"method", Request{Fusion: methodsOf("magic")}, "unknown_method", "/fusion", `no fusion method "magic": auto, muf, muf-sparse, hybrid, sum, rrf, gate, cce are known`},
		{"method's case", Request{Fusion: methodsOf("RRF")}, "unknown_method", "/fusion", `"RRF"`},
		{"empty method", Request{Fusion: methodsOf("")}, "unknown_method", "/fusion", `""`},
		{"no methods", Request{Fusion: listOf()}, "unknown_method", "/fusion", "is empty"},
		{"method in a list", Request{Fusion: listOf("rrf", "magic")}, "unknown_method", "/fusion/1", `"magic"`},
		{"method twice", Request{Fusion: listOf("rrf", "sum", "rrf")}, "duplicate_method", "/fusion/2",
			`"rrf" is named twice`},
		{"expert", Request{Experts: &[]string{"A", "wikki"}}, "unknown_expert", "/experts/1", `no expert "wikki": the experts are A, B, c`},
		{"expert twice", Request{Experts: &[]string{"A", "B", "A"}}, "duplicate_expert", "/experts/2", `"A" is named twice`},
		{"bm25 as an expert", Request{Experts: &[]string{"bm25"}}, "unknown_expert", "/experts/0", `"bm25"`},
		{"long expert", Request{Experts: &[]string{strings.Repeat("x", 1000)}}, "unknown_expert", "/experts/0", `xxx"…: the experts`},
		{"nothing to search", Request{Experts: none, BM25: &no}, "no_sources", "/experts", "nothing to search"},
		{"missing", Request{Missing: "zero"}, "unknown_value", "/missing",
			`missing is "zero": it has to be one of exact, min`},
		{"normalisation", Request{Normalisation: "softmax"}, "unknown_value", "/normalisation", "one of raw, minmax, centre-range, zscore"},
		{"field", Request{Fields: []string{"title", "body"}}, "unknown_value", "/fields/1", `no field "body": its fields are title, text, tags, metadata, document, contributions, sources`},
		{"weight of nothing", Request{Weights: map[string]float64{"a/b~c": 1}}, "unknown_source", "/weights/a~1b~0c", "the experts are A, B, c, and bm25 is BM25"},
		{"negative weight", Request{Weights: map[string]float64{"bm25": -1}}, "out_of_range", "/weights/bm25", "the weight is -1: it has to be from 0 to 1e+09"},
		{"huge weight", Request{Weights: map[string]float64{"A": 1e300}}, "out_of_range", "/weights/A",
			"has to be from 0 to"},
		{"weight is no number", Request{Weights: map[string]float64{"A": math.NaN()}}, "out_of_range", "/weights/A", "has to be from 0 to"},
		{"hybrid without BM25", Request{Fusion: methodsOf("hybrid"), Experts: &[]string{"A"}, BM25: &no}, "needs_bm25", "/fusion", `"hybrid" needs BM25, and "bm25" is false`},
		{"hybrid without BM25 in a list", Request{Fusion: listOf("rrf", "hybrid"), Experts: &[]string{"A"}, BM25: &no}, "needs_bm25", "/fusion/1", `"hybrid" needs BM25`},
		{"hybrid of words", Request{Fusion: methodsOf("hybrid"), Experts: none}, "needs_experts", "/fusion", "needs at least one expert"},
		{"MUF of words", Request{Fusion: methodsOf("muf"), Experts: none, BM25: &yes}, "needs_experts", "/fusion", "needs at least one expert"},
		{"sparse MUF of words", Request{Fusion: methodsOf("muf-sparse"), Experts: none}, "needs_experts", "/fusion", "needs at least one expert"},
		{"MUF uncalibrated alone", Request{Fusion: methodsOf("muf"), Experts: &[]string{"c"}}, "needs_experts", "/fusion", "Calibrating cannot help"},
		{"sparse MUF uncalibrated", Request{Fusion: methodsOf("muf-sparse"), Experts: &[]string{"c"}}, "needs_experts", "/fusion", "has an ensemble: c."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.pointer != "/question" {
				c.request.Question = askedOften
			}
			s := newStage("ABc", 20)
			e := s.refused(t, c.request)
			if e.Kind != fault.Invalid || e.Code != c.code || len(e.Fields) != 1 || e.Fields[0].Pointer != c.pointer {
				t.Errorf("%+v", e)
			}
			if !strings.Contains(e.Detail, c.says) || e.Detail != e.Fields[0].Detail {
				t.Errorf("detail %q, want one that says %q", e.Detail, c.says)
			}
			if n := s.library.acquire.Load(); n != 0 {
				t.Error("the corpus was asked about a request that is wrong")
			}
		})
	}
}

// TestExactAmongMany: an exact search is refused where an index compares with fewer passages
// than there are, and only where an expert is searched.
func TestExactAmongMany(t *testing.T) {
	s := newStage("a", 60)
	s.library.shelf.most = 60
	s.ask(t, Request{Question: askedOften, Fusion: methodsOf("rrf"), Exact: true})
	s.library.shelf.most = 59
	s.ask(t, Request{Question: askedOften, Fusion: methodsOf("rrf")})
	s.ask(t, Request{Question: askedOften, Fusion: methodsOf("rrf"), Exact: true, Experts: &[]string{}})
	refused := s.refused(t, Request{Question: askedOften, Fusion: methodsOf("rrf"), Exact: true})
	if refused.Kind != fault.Invalid || refused.Code != "out_of_range" || refused.Fields[0].Pointer != "/exact" ||
		!strings.Contains(refused.Detail, "all 60 passages: at most 59") {
		t.Errorf("%+v", refused)
	}
}

// TestRefusedCompletely: every field that is wrong is named, and a flood of
// them is cut.
func TestRefusedCompletely(t *testing.T) {
	s := newStage("A", 20)
	e := s.refused(t, Request{K: -1, Missing: "x", Fields: []string{"y"}})
	var pointers []string
	for _, f := range e.Fields {
		pointers = append(pointers, f.Pointer)
	}
	if got := strings.Join(pointers, " "); got != "/question /k /missing /fields/0" || e.Code != "empty_question" {
		t.Errorf("fields %s, code %s", got, e.Code)
	}
	flood := make([]string, 100000)
	weights := map[string]float64{}
	for i := range flood {
		weights[strings.Repeat("w", i%300)] = 1
	}
	e = s.refused(
		t, Request{Question: askedOften, Experts: &flood, Fields: flood, Fusion: listOf(flood...), Weights: weights},
	)
	if len(e.Fields) > 30 || len(e.Detail) > 10000 {
		t.Errorf("%d fields in a detail of %d bytes", len(e.Fields), len(e.Detail))
	}
}

// TestAllowed checks the cases beside the refused ones.
func TestAllowed(t *testing.T) {
	no := false
	for name, r := range map[string]Request{
		"limits":                     {K: 1000, Candidates: 1000, TimeoutMS: 10000},
		"hybrid of one uncalibrated": {Fusion: methodsOf("hybrid"), Experts: &[]string{"c"}},
		"MUF of calibrated ones":     {Fusion: methodsOf("muf"), Experts: &[]string{"B", "A"}},
		"MUF without BM25":           {Fusion: methodsOf("muf"), Experts: &[]string{"A"}, BM25: &no},
		"words alone":                {Experts: &[]string{}},
		"weight of what does not count": {Fusion: methodsOf("rrf"), BM25: &no,
			Weights: map[string]float64{"bm25": 2, "B": 0}},
		"hostile question": {Question: "\x00 [SEP] \u202e \ufeff " + strings.Repeat("x", 8000)},
	} {
		t.Run(name, func(t *testing.T) {
			if r.Question == "" {
				r.Question = askedOften
			}
			newStage("ABc", 20).ask(t, r)
		})
	}
	// Without any expert, all experts are none of them.
	r := newStage("", 20).ask(t, Request{Question: askedOften})
	if len(r.Sources) != 1 || len(r.Results) == 0 {
		t.Errorf("words alone: %+v", r)
	}
	if e := newStage("", 20).refused(t, Request{Question: askedOften, Experts: &[]string{"x"}}); !strings.Contains(
		e.Detail, "no experts are loaded",
	) {
		t.Errorf("detail %q", e.Detail)
	}
}

// TestAnyRequest: whatever the request, the answer is sound or the error says
// what is wrong with it.
func TestAnyRequest(t *testing.T) {
	s := newStage("ABc", 40)
	engine := s.engine(t)
	words := rapid.SampledFrom(
		[]string{
			"",
			"A",
			"B",
			"c",
			"bm25",
			"rrf",
			"muf",
			"muf-sparse",
			"hybrid",
			"sum",
			"auto",
			"exact",
			"min",
			"raw",
			"minmax",
			"zscore",
			"centre-range",
			"title",
			"text",
			"\xff",
			"nonsense",
		},
	)
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, label) }
		number := func(label string) int {
			return rapid.SampledFrom([]int{0, 0, 0, 1, 2, 7, 40, 1000, -1, 1 << 40}).Draw(rt, label)
		}
		r := Request{
			Question:      pick("question", askedOften, askedOften, "zebra", "\x00", "", "\xff"),
			K:             number("k"),
			Candidates:    number("candidates"),
			TimeoutMS:     rapid.SampledFrom([]int{0, 5000, -5}).Draw(rt, "timeout"),
			Missing:       pick("missing", "", "exact", "min", "x"),
			Normalisation: pick("normalisation", "", "raw", "minmax", "zscore", "centre-range", "x"),
			Explain:       rapid.Bool().Draw(rt, "explain"),
			Exact:         rapid.Bool().Draw(rt, "exact"),
			Fusion: Methods{
				Names:  rapid.SliceOfN(words, 0, 3).Draw(rt, "fusion"),
				Listed: rapid.Bool().Draw(rt, "listed"),
			},
			Weights: rapid.MapOfN(words, rapid.SampledFrom([]float64{0, 1, .5, 1e9, -1}), 0, 2).Draw(rt, "weights"),
		}
		if rapid.Bool().Draw(rt, "names experts") {
			experts := rapid.SliceOfN(words, 0, 2).Draw(rt, "experts")
			r.Experts = &experts
		}
		if rapid.Bool().Draw(rt, "says bm25") {
			use := rapid.Bool().Draw(rt, "bm25")
			r.BM25 = &use
		}
		response, err := engine.Search(context.Background(), Caller{}, r)
		if err == nil {
			checkResponse(t, response)
			return
		}
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.Invalid || e.Code == "" || e.Detail == "" || len(e.Fields) == 0 {
			rt.Fatalf("%+v: %v", r, err)
		}
	})
}

// TestMethodsInJSON: a string, or an array.
func TestMethodsInJSON(t *testing.T) {
	for text, want := range map[string]Methods{`"rrf"`: methodsOf("rrf"), `["rrf"]`: listOf("rrf"), `["rrf","sum"]`: listOf("rrf", "sum")} {
		var m Methods
		if err := json.Unmarshal([]byte(text), &m); err != nil || m.Listed != want.Listed ||
			strings.Join(m.Names, " ") != strings.Join(want.Names, " ") {
			t.Errorf("%s: %+v, %v", text, m, err)
		}
		if err := json.Unmarshal([]byte("null"), &m); err != nil || len(m.Names) != len(want.Names) {
			t.Errorf("null after %s: %+v, %v", text, m, err)
		}
		if back, err := json.Marshal(m); err != nil || string(back) != text {
			t.Errorf("%s came back as %s, %v", text, back, err)
		}
	}
}
