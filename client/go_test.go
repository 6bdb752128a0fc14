package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	client "example.org/conclave/client/go"
	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
)

func TestSearch(t *testing.T) {
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{Change: realclients.Marker(t)})}
	answer, err := c.Search(
		t.Context(),
		client.SearchRequest{
			Question: "who hid the lamp",
			K:        2,
			Fields:   []string{"title", "text", "tags", "metadata", "contributions"},
		},
	)
	if err != nil || len(answer.Results) != 2 || answer.Fusion != "gate" {
		t.Fatalf("%+v, %v", answer, err)
	}
	first := answer.Results[0]
	sum := 0.0
	for _, from := range first.Contributions {
		sum += from.Contribution
	}
	if first.ID != "lamps/1" || first.Title != "Lamps" || !slices.Equal(first.Tags, []string{"tales"}) ||
		first.Metadata["page"] != json.Number("7") ||
		sum < first.Score-1e-6 ||
		sum > first.Score+1e-6 {
		t.Errorf("%+v, and the contributions add up to %g", first, sum)
	}
	several, err := c.Search(
		t.Context(),
		client.SearchRequest{
			Question: "rice",
			Fusion:   client.Fusion("rrf", "sum"),
			Filter:   client.Filter{TagsAll: []string{"kitchen"}},
		},
	)
	if err != nil || len(several.Rankings) != 2 || len(several.Rankings[1].Results) != 1 ||
		several.Rankings[1].Results[0].ID != "rice" {
		t.Errorf("%+v, %v", several, err)
	}
	batch, err := c.SearchBatch(
		t.Context(),
		[]client.SearchRequest{
			{Question: "a fox", K: 1},
			{Question: "a fox", Fusion: client.Fusion("guess")},
			{Question: "rice", K: 1},
		},
	)
	if err != nil || len(batch) != 3 || batch[0].Err != nil || batch[0].Results[0].ID != "foxes" ||
		client.Code(batch[1].Err) != "unknown_method" ||
		batch[2].Results[0].ID != "rice" {
		t.Errorf("%+v, %v", batch, err)
	}
	marked := client.SearchRequest{
		Question: "who hid the lamp",
		K:        2,
		Answer:   client.AnswerOptions{Wanted: true, Reader: "marker"},
	}
	batch, err = c.SearchBatch(t.Context(), []client.SearchRequest{{Question: "a fox"}, marked})
	if err != nil || len(batch) != 2 || len(batch[0].Answers) > 0 || len(batch[1].Answers) == 0 {
		t.Fatalf("%+v, %v", batch, err)
	}
	answer, err = c.Search(t.Context(), marked)
	if err != nil || len(answer.Answers) != len(batch[1].Answers) {
		t.Fatalf("%+v, %v", answer, err)
	}
	for _, a := range answer.Answers {
		at := slices.IndexFunc(answer.Results, func(r client.Result) bool { return r.ID == a.Passage })
		if at < 0 || answer.Results[at].Text[a.Start:a.End] != a.Text {
			t.Errorf("%+v is not in %+v", a, answer.Results)
		}
	}
	experts, err := c.Experts(t.Context())
	if err != nil || len(experts) != 2 || experts[0].Name != "base" || experts[0].Dimension != 32 {
		t.Errorf("%+v, %v", experts, err)
	}
}

// TestNumbersToTheDigit: metadata that is put comes back, wherever it is read.
func TestNumbersToTheDigit(t *testing.T) {
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{})}
	want := map[string]any{
		"big":   json.Number("1546130668394913822"),
		"exact": json.Number("0.1000000000000000055511151231257827"),
		"whole": json.Number("1.0"),
	}
	if _, err := c.Put(t.Context(), client.Passage{ID: "n", Title: "numerals", Metadata: want},
		client.Write{Visible: true}); err != nil {
		t.Fatal(err)
	}
	request := client.SearchRequest{Question: "numerals", K: 1, Fields: []string{"metadata"}}
	answer, err := c.Search(t.Context(), request)
	if err != nil || len(answer.Results) != 1 {
		t.Fatalf("%+v, %v", answer, err)
	}
	batch, err := c.SearchBatch(t.Context(), []client.SearchRequest{request})
	if err != nil || len(batch) != 1 || batch[0].Err != nil {
		t.Fatalf("%+v, %v", batch, err)
	}
	passage, _, err := c.Passage(t.Context(), "n")
	if err != nil || passage.Text != "" || passage.Title != "numerals" {
		t.Fatalf("%+v, %v", passage, err)
	}
	for name, got := range map[string]map[string]any{"search": answer.Results[0].Metadata, "batch": batch[0].Results[0].Metadata, "passage": passage.Metadata} {
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for p, err := range c.Passages(t.Context()) {
		if err != nil || p.ID == "n" && !maps.Equal(p.Metadata, want) {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// TestProblems: errors are typed, and say what the server says.
func TestProblems(t *testing.T) {
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{})}
	_, err := c.Search(t.Context(), client.SearchRequest{Question: "x", K: 1 << 20})
	var problem *client.Problem
	if !errors.As(err, &problem) || problem.Status != 422 || problem.Code != "out_of_range" || len(problem.Fields) != 1 ||
		problem.Fields[0].Pointer != "/k" ||
		problem.RequestID == "" {
		t.Errorf("%+v", err)
	}
	if _, _, err := c.Passage(t.Context(), "nobody"); client.Code(err) != "unknown_passage" {
		t.Error(err)
	}
	if _, err := (&client.Client{Address: "127.0.0.1"}).Experts(t.Context()); err == nil || client.Code(err) != "" {
		t.Error(err)
	}
}

// TestEmbed compares npy with what the server says in JSON of the same texts, through a
// search: the vectors of a text are those by which its passage is scored.
func TestEmbed(t *testing.T) {
	// Enough passages for a confidence: without one a short question takes the message before it along.
	passages := `{"id":"lamps/1","title":"Lamps","text":"The keeper of the lighthouse hid the lamp under his coat."}` + "\n"
	for i := range 20 {
		passages += fmt.Sprintf(`{"id":"rice/%d","title":"Rice","text":"Cooked rice keeps for %d days."}`+"\n", i, i+2)
	}
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{Passages: passages})}
	long := strings.Repeat("the lamp ", 400)
	v, err := c.Embed(t.Context(), "base", "question", []string{"rice", long, "rice"})
	if err != nil || v.Dimension != 32 || len(v.Values) != 3*32 || !slices.Equal(v.Truncated, []int{1}) {
		t.Fatalf("%d numbers of %d, truncated %v, %v", len(v.Values), v.Dimension, v.Truncated, err)
	}
	length := 0.0
	for _, x := range v.Row(0) {
		length += float64(x) * float64(x)
	}
	if !slices.Equal(v.Row(0), v.Row(2)) || slices.Equal(v.Row(0), v.Row(1)) || length < 0.9999 || length > 1.0001 {
		t.Errorf("%v", v)
	}
	if _, err := c.Embed(t.Context(), "nobody", "question", []string{"x"}); client.Code(err) != "unknown_expert" {
		t.Error(err)
	}
}

func TestPassages(t *testing.T) {
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{})}
	ctx := t.Context()
	note := client.Passage{
		ID:       "notes/ü 1%",
		Title:    "Tea",
		Text:     "Green tea is brewed below the boiling point.",
		Metadata: map[string]any{"hot": true},
	}
	written, err := c.Put(ctx, note, client.Write{IfAbsent: true, Visible: true})
	if err != nil || written.Status != "created" || written.ID != note.ID {
		t.Fatalf("%+v, %v", written, err)
	}
	stored, version, err := c.Passage(ctx, note.ID)
	if err != nil || version != written.Version || stored.Text != note.Text || stored.Metadata["hot"] != true {
		t.Errorf("%+v, %s, %v", stored, version, err)
	}
	if _, err := c.Put(ctx, note, client.Write{IfAbsent: true}); client.Code(err) != "version_mismatch" {
		t.Error(err)
	}
	if _, err := c.Delete(ctx, note.ID, client.Write{IfVersion: "another"}); client.Code(err) != "version_mismatch" {
		t.Error(err)
	}
	var ids []string
	for p, err := range c.Passages(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	if !slices.Equal(ids, []string{"foxes", "lamps/1", note.ID, "rice"}) {
		t.Error(ids)
	}
	if gone, err := c.Delete(ctx, note.ID, client.Write{IfVersion: version, Visible: true}); err != nil ||
		gone.Status != "deleted" {
		t.Errorf("%+v, %v", gone, err)
	}
}

func TestDocuments(t *testing.T) {
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{})}
	ctx := t.Context()
	const id = "guide/ü 1%.md"
	about := client.AboutDocument{
		Source: "https://example.org/g", Tags: []string{"service", "public"}, Metadata: map[string]any{"year": 2026},
	}
	file := []byte("# Returns\n\nSend a photo of the damage first.")
	put, err := c.PutDocument(ctx, id, file, about, client.Write{Visible: true})
	if err != nil || put.Status != "created" {
		t.Fatalf("%+v, %v", put, err)
	}
	got, err := c.Document(ctx, id)
	if err != nil || got.Text != "Returns\n\nSend a photo of the damage first." || got.Title != "Returns" ||
		got.Source != about.Source || !slices.Equal(got.Tags, about.Tags) || got.Version != put.Version ||
		got.Passages != 1 || fmt.Sprint(got.Metadata["year"]) != "2026" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = c.PutDocument(ctx, id, file, about, client.Write{IfAbsent: true})
	if client.Code(err) != "version_mismatch" {
		t.Error(err)
	}
	var ids []string
	for d, err := range c.Documents(ctx, "guide/", "RETURNS") {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.ID)
	}
	if !slices.Equal(ids, []string{id}) {
		t.Error(ids)
	}
	meant := client.Suggestion{Text: "Returns", Kind: "document", Passages: 1, Corrected: true}
	if typed, err := c.Suggest(ctx, "retrns", 1); err != nil || !slices.Equal(typed, []client.Suggestion{meant}) {
		t.Errorf("%+v, %v", typed, err)
	}
	if gone, err := c.DeleteDocument(ctx, id, client.Write{Visible: true}); err != nil || gone.Status != "deleted" {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := c.Document(ctx, id); client.Code(err) != "unknown_document" {
		t.Error(err)
	}
}

func TestUpload(t *testing.T) {
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{})}
	const n = 3000
	passages := func(yield func(client.Passage) bool) {
		for i := range n {
			p := client.Passage{ID: fmt.Sprint("many/", i), Text: fmt.Sprintf("Lamp number %d of the long street.", i)}
			if i == 7 {
				p.Text = ""
			}
			if !yield(p) {
				return
			}
		}
	}
	status := map[string]int{}
	line := 0
	for u, err := range c.Upload(t.Context(), client.Lines(passages), true) {
		if err != nil {
			t.Fatal(err)
		}
		line++
		status[u.Status]++
		if u.Line != line || (u.Err != nil) != (line == 8) {
			t.Fatalf("line %d: %+v, %v", line, u, u.Err)
		}
	}
	if line != n || status["created"] != n-1 || status["rejected"] != 1 {
		t.Error(line, status)
	}
	answer, err := c.Search(t.Context(), client.SearchRequest{Question: "lamp number 2999", K: 1})
	if err != nil || answer.Results[0].ID != "many/2999" {
		t.Errorf("%+v, %v", answer.Results, err)
	}
	// One who stops reading stops the upload, and what it reads from.
	closed := &closing{Reader: neverEnding{}}
	for u, err := range c.Upload(t.Context(), closed, false) {
		if err != nil || u.Status != "created" && u.Status != "unchanged" {
			t.Fatalf("%+v, %v", u, err)
		}
		break
	}
	for deadline := time.Now().Add(10 * time.Second); !closed.closed.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the source of an upload that was given up is still open")
		}
	}
}

// neverEnding is the same line again and again.
type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) {
	return copy(p, `{"id":"x","text":"again"}`+"\n"), nil
}

type closing struct {
	io.Reader
	closed atomic.Bool
}

func (c *closing) Close() error { c.closed.Store(true); return nil }

func TestJobs(t *testing.T) {
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{})}
	job, err := c.DeletePassages(t.Context(), client.Filter{TagsAny: []string{"tales"}})
	if err != nil {
		t.Fatal(err)
	}
	job, err = c.Wait(t.Context(), job.ID)
	if err != nil || job.Result.Deleted != 2 {
		t.Errorf("%+v, %v", job, err)
	}
	year := client.Filter{Condition: client.Condition{Field: "nobody", Exists: new(true)}}
	if n, err := c.CountPassages(t.Context(), year); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	year.Exists = new(false)
	if n, err := c.CountPassages(t.Context(), year); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	job, err = c.Snapshot(t.Context(), "monday")
	if err == nil {
		job, err = c.Wait(t.Context(), job.ID)
	}
	if err != nil || job.Result.Passages != 1 || !strings.HasSuffix(job.Result.Folder, "monday") {
		t.Errorf("%+v, %v", job, err)
	}
	site := client.Site{URL: "https://docs.example.org/", Whole: true, Exclude: []string{"/old/"}, Pages: 9}
	if _, err := c.AddSite(t.Context(), site, "web"); client.Code(err) != "host_not_allowed" {
		t.Errorf("a site: %v", err)
	}
	job, err = c.AddExpert(t.Context(), "nobody")
	if err == nil {
		job, err = c.Wait(t.Context(), job.ID)
		if job.State != "failed" {
			t.Errorf("%+v, %v", job, err)
		}
	}
	if err == nil {
		t.Error("an expert that is nowhere was added")
	}
	if all, err := c.Jobs(t.Context()); err != nil || len(all) < 2 || all[len(all)-1].Kind != "delete_passages" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := c.Cancel(t.Context(), "1"); client.Code(err) != "job_ended" {
		t.Error(err)
	}
}

// TestRetries: what the server refuses for now is asked again when it said, and no
// more often, or later than the context allows.
func TestRetries(t *testing.T) {
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{Change: func(config *configs.Config) {
		config.Rate.Requests = 1
		config.Rate.Window = time.Second
	}})}
	for range 3 {
		if _, err := c.Experts(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	once := client.Client{Address: c.Address, Attempts: 1}
	var refused error
	for refused == nil {
		_, refused = once.Experts(t.Context())
	}
	var problem *client.Problem
	if !errors.As(refused, &problem) || problem.Code != "rate_limited" || problem.RetryAfter != time.Second {
		t.Errorf("%+v", refused)
	}
	hurried, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	for refused = nil; refused == nil; {
		_, refused = c.Experts(hurried)
	}
	if client.Code(refused) != "rate_limited" {
		t.Errorf("the server's answer was lost: %v", refused)
	}
}

// TestBrokenConnections: a question whose connection breaks is asked again; what would
// be done twice is not.
func TestBrokenConnections(t *testing.T) {
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{})}
	flaky, connections := realclients.Flaky(t, c.Address)
	through := client.Client{Address: flaky}
	if _, err := through.DeletePassages(t.Context(), client.Filter{TagsAny: []string{"x"}}); err == nil ||
		connections.Load() != 1 {
		t.Errorf("after %d connections: %v", connections.Load(), err)
	}
	connections.Store(0)
	if _, err := through.Search(t.Context(), client.SearchRequest{Question: "rice"}); err != nil ||
		connections.Load() != 2 {
		t.Errorf("after %d connections: %v", connections.Load(), err)
	}
}

// TestLongQuestions: a long question and a conversation are answered alone, in a batch and
// as events alike, say what was asked, and what they found is fused again.
func TestLongQuestions(t *testing.T) {
	// Enough passages for a confidence: without one a short question takes the message before it along.
	passages := `{"id":"lamps/1","title":"Lamps","text":"The keeper of the lighthouse hid the lamp under his coat."}` + "\n"
	for i := range 20 {
		passages += fmt.Sprintf(`{"id":"rice/%d","title":"Rice","text":"Cooked rice keeps for %d days."}`+"\n", i, i+2)
	}
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{Passages: passages})}
	long := strings.Repeat("It rained all day and we stayed at home. ", 40) + "Who hid the lamp?"
	said := []client.Message{
		{Role: "user", Content: "Good morning"},
		{Role: "assistant", Content: "Hello"},
		{Role: "user", Content: long},
	}
	requests := []client.SearchRequest{{Question: long, K: 3, Explain: true}, {Messages: said, K: 3, Explain: true}}
	batch, err := c.SearchBatch(t.Context(), requests)
	if err != nil || len(batch) != 2 {
		t.Fatalf("%+v, %v", batch, err)
	}
	for i, r := range requests {
		answer, err := c.Search(t.Context(), r)
		if err != nil || batch[i].Err != nil || len(answer.Results) == 0 {
			t.Fatalf("%+v, %v, %v", answer, err, batch[i].Err)
		}
		if answer.Question != long || answer.Asked == "" || !strings.Contains(long, answer.Asked) ||
			batch[i].Asked != answer.Asked {
			t.Errorf("asked %q, in a batch %q", answer.Asked, batch[i].Asked)
		}
		ids := func(results []client.Result) (ids []string) {
			for _, result := range results {
				ids = append(ids, result.ID)
			}
			return ids
		}
		want := ids(answer.Results)
		if !slices.Equal(ids(batch[i].Results), want) {
			t.Errorf("a batch has %v, a search %v", ids(batch[i].Results), want)
		}
		events := answeredAs(t, c.Address+"/v1/search", "text/event-stream", r)
		if !strings.Contains(events, "event: response") || !strings.Contains(events, `"asked":`) ||
			strings.Contains(events, "event: problem") {
			t.Errorf("events: %s", events)
		}
		var fused client.SearchResponse
		text := answeredAs(
			t, c.Address+"/v1/fuse", "application/json", map[string]any{"fusion": "rrf", "candidates": answer.Results},
		)
		if err := json.Unmarshal([]byte(text), &fused); err != nil || len(fused.Results) != len(want) {
			t.Errorf("fused again: %v, %s", err, text)
		}
	}
}

// answeredAs sends a request and returns the body of the answer, in the type that it accepts.
func answeredAs(t *testing.T, url, accept string, body any) string {
	t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", url, response.StatusCode, text, err)
	}
	return string(text)
}
