package endpoints

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestInterfaces asks each interface, and compares what it was asked for with what its documentation has, and what
// came back with the numbers of the fake's model.
func TestInterfaces(t *testing.T) {
	for _, c := range []struct {
		name, path string
		question   Side
		change     func(*Options)
		want       map[string]any // of the request for a question
	}{
		{"openai", "/v1/embeddings", Side{}, nil,
			map[string]any{"model": "m", "input": []any{"why"}, "encoding_format": "float"}},
		{"openai with dimensions", "/v1/embeddings", Side{InputType: "query", Prefix: "Q: ", Model: "mq"},
			func(o *Options) { o.Dimension = 8 },
			map[string]any{"model": "mq", "input": []any{"Q: why"}, "encoding_format": "float", "dimensions": 8.0,
				"input_type": "query"}},
		{"tei", "/embed", Side{InputType: "query"}, func(o *Options) {
			o.Server.Interface = TEI
			o.Server.Address = strings.TrimSuffix(o.Server.Address, "/v1")
		}, map[string]any{"inputs": []any{"why"}, "normalize": false, "prompt_name": "query"}},
		{"cohere", "/v2/embed", Side{}, func(o *Options) {
			o.Server.Interface = Cohere
			o.Server.Address = strings.TrimSuffix(o.Server.Address, "/v1") + "/v2"
		}, map[string]any{"model": "m", "texts": []any{"why"}, "input_type": "search_query",
			"embedding_types": []any{"float"}, "truncate": "NONE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			o := f.options()
			o.Batch = 2 // no probe fits into a question's request
			o.Question = c.question
			if c.change != nil {
				c.change(&o)
			}
			e := open(t, o)
			got, err := e.Question(t.Context(), "why")
			if err != nil {
				t.Fatal(err)
			}
			if want := vectorOf("a", c.question.Prefix+"why"); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if f.paths[0] != c.path || f.keys[0] != "Bearer "+testKey || !reflect.DeepEqual(f.requests[0], c.want) {
				t.Errorf("asked %s %v with %q, want %s %v", f.paths[0], f.requests[0], f.keys[0], c.path, c.want)
			}
			texts := []string{"one", "two", "three", "four", "five"}
			vectors, err := e.Passages(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range texts {
				if want := vectorOf("a", text); !reflect.DeepEqual(vectors[i], want) {
					t.Errorf("%s: got %v, want %v", text, vectors[i], want)
				}
			}
			if _, answered := f.seen(); answered != 6 {
				t.Errorf("%d texts were answered, want 6", answered)
			}
		})
	}
}

// TestRequestsAreBounded compares the requests for passages with the bounds on texts and tokens.
func TestRequestsAreBounded(t *testing.T) {
	f := newFake(t)
	o := f.options()
	o.RequestTokens = 2 * EstimateTokens(strings.Repeat("x", 300))
	texts := make([]string, 20)
	for i := range texts {
		texts[i] = fmt.Sprint(i)
		if i < 6 {
			texts[i] += strings.Repeat("x", 290)
		}
	}
	if _, err := open(t, o).Passages(t.Context(), texts); err != nil {
		t.Fatal(err)
	}
	sent := 0
	for _, r := range f.requests {
		n := len(r["input"].([]any))
		sent += n
		tokens := 0
		for _, text := range r["input"].([]any) {
			tokens += EstimateTokens(text.(string))
		}
		if n > o.Batch || n > 1 && tokens > o.RequestTokens {
			t.Errorf("a request has %d texts of %d tokens", n, tokens)
		}
	}
	if sent != len(texts) {
		t.Errorf("%d texts were sent, want %d", sent, len(texts))
	}
}

// TestScaled compares the lengths of vectors that are cut and scaled with their beginnings.
func TestScaled(t *testing.T) {
	f := newFake(t)
	o := f.options()
	o.CutTo = 5
	got, err := open(t, o).Passages(t.Context(), []string{"one"})
	if err != nil {
		t.Fatal(err)
	}
	want := vectorOf("a", "one")[:5]
	length := 0.0
	for _, x := range want {
		length += float64(x) * float64(x)
	}
	for i, x := range want {
		if math.Abs(float64(got[0][i])-float64(x)/math.Sqrt(length)) > 1e-6 {
			t.Fatalf("got %v, want the first five of %v scaled", got[0], want)
		}
	}
	if len(got[0]) != 5 {
		t.Errorf("%d numbers", len(got[0]))
	}
}

// answering returns a function for fakeServer.before that always answers so.
func answering(status int, body string, header ...string) func(int, []string, http.ResponseWriter) bool {
	return func(_ int, _ []string, w http.ResponseWriter) bool {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
		return true
	}
}

// TestFailures has a server fail in each way. Neither the key nor the text may be in an error, which is logged.
func TestFailures(t *testing.T) {
	vectors := func(v string) string { return `{"data":[{"index":0,"embedding":` + v + `}]}` }
	for name, c := range map[string]struct {
		before func(int, []string, http.ResponseWriter) bool
		want   string
		again  bool
	}{
		"no key":    {answering(401, `{"error":{"message":"bad key `+testKey+`"}}`), "refused the key", false},
		"forbidden": {answering(403, secret), "refused the key", false},
		"no model":  {answering(404, `{"detail":"`+secret+`"}`), `no model "m"`, false},
		"refused": {answering(400, `{"error":{"message":"`+secret+`","code":"context_length_exceeded"}}`),
			"status 400), context_length_exceeded", false},
		"echo as code": {answering(422, `{"error":"`+secret+`","error_type":"`+secret+`"}`), "status 422)", false},
		"busy":         {answering(429, secret), "too much to do", true},
		"broken":       {answering(500, secret), "failed (status 500)", true},
		"moved":        {answering(307, "", "Location", "http://127.0.0.1:1/"), "another address", false},
		"no JSON":      {answering(200, "<html>"+secret), "no JSON", true},
		"other JSON":   {answering(200, `{"data":"`+secret+`"}`), "another type", true},
		"nothing":      {answering(200, `{}`), "0 vectors for 1 texts", true},
		"too many":     {answering(200, `{"data":[{"embedding":[1]},{"embedding":[1]}]}`), "2 vectors for 1", true},
		"empty vector": {answering(200, vectors("[]")), "has 0 numbers", true},
		"NaN":          {answering(200, vectors("[1,NaN]")), "no JSON", true},
		"null":         {answering(200, vectors("[1,null]")), "number 2 of a vector is not finite", true},
		"huge number":  {answering(200, vectors("[1,1e39]")), "number 2 of a vector is not finite", true},
		"a text":       {answering(200, vectors(`["`+secret+`"]`)), "number 1 of a vector is not finite", true},
		"nested":       {answering(200, vectors(strings.Repeat("[", 20000)+strings.Repeat("]", 20000))), "no JSON", true},
		"too long a vector": {answering(200, vectors("["+strings.Repeat("1,", MostDimension)+"1]")), "allowed are 1 to 4096",
			true},
		"wrong number": {answering(200, `{"data":[{"index":3,"embedding":[1]}]}`), "numbered with 3", true},
		"cut": {func(_ int, _ []string, w http.ResponseWriter) bool {
			w.Header().Set("Content-Length", "1000")
			_, _ = fmt.Fprint(w, `{"data":[`)
			panic(http.ErrAbortHandler)
		}, "broke the connection", true},
		"endless": {func(_ int, _ []string, w http.ResponseWriter) bool {
			for range 4096 {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return true
				}
			}
			return true
		}, "longer than", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.before = c.before
			o := f.options()
			o.Batch = 1 // without probes
			o.Patience = time.Nanosecond
			e := open(t, o)
			_, ofQuestion := e.Question(t.Context(), secret)
			_, ofPassages := e.Passages(t.Context(), []string{secret})
			for side, err := range map[string]error{"question": ofQuestion, "passages": ofPassages} {
				var failed *Error
				if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) || failed.Again != c.again {
					t.Errorf("%s: %v (again %v), want %q (again %v)", side, err, failed != nil && failed.Again, c.want, c.again)
				}
				if text := fmt.Sprintf("%v %+v", err, failed); strings.Contains(text, "vault") || strings.Contains(text, testKey) {
					t.Errorf("%s: the error has what was sent: %s", side, text)
				}
			}
		})
	}
}

// TestRepeated has a server fail at first: all vectors come, and none is asked for again that came.
func TestRepeated(t *testing.T) {
	f := newFake(t)
	o := f.options()
	o.Batch = 2
	o.Concurrency = 3
	f.before = func(n int, _ []string, w http.ResponseWriter) bool {
		switch {
		case n <= 2:
			return answering(429, "", "Retry-After", "0.01")(n, nil, w)
		case n <= 6:
			return answering(503, "")(n, nil, w)
		}
		return false
	}
	texts := make([]string, 11)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	got, err := open(t, o).Passages(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if !reflect.DeepEqual(got[i], vectorOf("a", text)) {
			t.Errorf("%s has the vector of another text", text)
		}
	}
	if requests, answered := f.seen(); answered != len(texts) || requests != 6+6 {
		t.Errorf("%d requests and %d texts, want 12 and %d", requests, answered, len(texts))
	}
}

// TestRefusedTexts has a server that refuses requests of more than 200 bytes: requests are halved, and single texts cut
// between characters.
func TestRefusedTexts(t *testing.T) {
	f := newFake(t)
	f.before = func(n int, texts []string, w http.ResponseWriter) bool {
		return len(strings.Join(texts, "")) > 200 && answering(413, "")(n, nil, w)
	}
	e := open(t, f.options())
	texts := []string{strings.Repeat("a", 120), strings.Repeat("b", 120), strings.Repeat("é", 300), "c"}
	got, err := e.Passages(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]string{}, texts...)
	want[2] = strings.Repeat("é", 75)
	for i, text := range want {
		if !reflect.DeepEqual(got[i], vectorOf("a", text)) {
			t.Errorf("text %d has another vector than that of %q", i, text)
		}
	}
	if n := e.Stats().Cut; n != 1 {
		t.Errorf("%d texts were cut, want 1", n)
	}
}

// TestTextErrorNamesTheText: of the texts, the one that is refused is named.
func TestTextErrorNamesTheText(t *testing.T) {
	f := newFake(t)
	f.before = func(n int, texts []string, w http.ResponseWriter) bool {
		return strings.Contains(strings.Join(texts, ""), "b") && answering(400, "")(n, nil, w)
	}
	o := f.options()
	o.Concurrency = 1
	_, err := open(t, o).Passages(t.Context(), []string{"a", "x", "c", "d", "bad", "e"})
	var of *TextError
	if !errors.As(err, &of) || of.Text != 4 || !of.Refused {
		t.Errorf("%v of %+v, want of text 4", err, of)
	}
}

// TestQuestionsAreKept asks a question twice, which is sent once.
func TestQuestionsAreKept(t *testing.T) {
	f := newFake(t)
	o := f.options()
	o.CacheEntries = 2
	e := open(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, q := range []string{"a", "a", "b", "a", "c", "a", "b"} { // c takes the place of b
		v, err := e.Question(ctx, q)
		if err != nil || !reflect.DeepEqual(v, vectorOf("a", q)) {
			t.Fatal(q, err)
		}
		v[0] = 99 // it is the caller's
	}
	if requests, _ := f.seen(); requests != 4 {
		t.Errorf("%d requests, want 4", requests)
	}
}

// TestLateQuestion: a question that is not answered in time is an error, and the vector that comes later is kept.
func TestLateQuestion(t *testing.T) {
	f := newFake(t)
	answer := make(chan struct{})
	f.before = func(int, []string, http.ResponseWriter) bool {
		<-answer
		return false
	}
	o := f.options()
	o.QuestionTime = 10 * time.Millisecond
	e := open(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := e.Question(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	close(answer)
	for e.cache.get("a") == nil { // until the test's own timeout
		time.Sleep(time.Millisecond)
	}
	if _, err := e.Question(ctx, "a"); err != nil {
		t.Error(err)
	}
	if requests, _ := f.seen(); requests != 1 {
		t.Errorf("%d requests, want 1", requests)
	}
}

// TestBreaker: after several failures nothing is asked any more. A refused text is no failure.
func TestBreaker(t *testing.T) {
	f := newFake(t)
	f.before = answering(400, "")
	e := open(t, f.options())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ask := func(n int) (last error) {
		for i := range n {
			_, last = e.Question(ctx, fmt.Sprint("question ", i))
		}
		return last
	}
	ask(10)
	if requests, _ := f.seen(); requests != 10 {
		t.Fatalf("%d requests, want 10", requests)
	}
	f.set(func() { f.before = answering(500, "") })
	err := ask(10)
	if requests, _ := f.seen(); requests != 10+mostFailures {
		t.Errorf("%d requests, want %d", requests, 10+mostFailures)
	}
	if err == nil || !strings.Contains(err.Error(), "failed lately") {
		t.Error(err)
	}
}

// TestChangeForgetsQuestions: vectors of questions are not those of the model before.
func TestChangeForgetsQuestions(t *testing.T) {
	f := newFake(t)
	e := open(t, f.options())
	if _, err := e.Question(t.Context(), "why"); err != nil {
		t.Fatal(err)
	}
	f.set(func() { f.model = "b" })
	if _, err := e.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := e.Question(t.Context(), "why")
	if err != nil || !reflect.DeepEqual(got, vectorOf("b", "why")) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestRerank compares the scores of both interfaces with those that the server gave, in the order of the passages.
func TestRerank(t *testing.T) {
	for _, c := range []struct {
		kind, answer string
		want         []float64
		request      map[string]any
	}{
		{Cohere, `{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.5,"document":{"text":"x"}}]}`,
			[]float64{0, math.Log(9)},
			map[string]any{"model": "m", "query": "why", "documents": []any{"one", "two"}, "top_n": 2.0}},
		{Cohere, `{"results":[{"index":1,"relevance_score":-3.5},{"index":0,"relevance_score":0.5}]}`,
			[]float64{0.5, -3.5}, nil}, // no probabilities
		{TEI, `[{"index":1,"score":0.25},{"index":0,"score":0.5}]`, []float64{0.5, 0.25},
			map[string]any{"query": "why", "texts": []any{"one", "two"}, "raw_scores": true, "truncate": true}},
		{Cohere, `{"results":[{"index":1,"relevance_score":0.9}]}`, nil, nil},
		{Cohere, `{"results":[{"index":1,"relevance_score":0.9},{"index":1,"relevance_score":0.5}]}`, nil, nil},
		{Cohere, `{"results":[{"index":1,"relevance_score":null},{"index":0,"relevance_score":0.5}]}`, nil, nil},
		{TEI, `[{"index":1,"score":0.25},{"index":7,"score":0.5}]`, nil, nil},
		{TEI, `[{"index":1,"score":1e999},{"index":0,"score":0.5}]`, nil, nil},
	} {
		f := newFake(t)
		f.before = answering(200, c.answer)
		o := f.options()
		o.Server.Interface = c.kind
		r, err := NewReranker(o.Server)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Score(t.Context(), "why", []string{"one", "two"})
		if c.want == nil {
			if err == nil {
				t.Errorf("%s: got %v", c.answer, got)
			}
			continue
		}
		for i, want := range c.want {
			if err != nil || math.Abs(got[i]-want) > 1e-9 {
				t.Errorf("%s: got %v, %v, want %v", c.answer, got, err, c.want)
			}
		}
		if f.paths[0] != "/v1/rerank" || c.request != nil && !reflect.DeepEqual(f.requests[0], c.request) {
			t.Errorf("asked %s %v, want %v", f.paths[0], f.requests[0], c.request)
		}
		if r.Expect(2) <= 0 {
			t.Error("it is not known how long the next request takes")
		}
	}
}
