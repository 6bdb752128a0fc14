package client_test

import (
	"slices"
	"testing"

	client "example.org/conclave/client/go"
	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
)

// keepQuestions is a change of a configuration, for realclients.ServerOptions.Change: questions that were answered and
// questions that were not are kept, and one asker is enough for a suggestion.
func keepQuestions(c *configs.Config) {
	c.Unanswered.Keep = 10
	c.Answered.Keep = 10
	c.Answered.Askers = 1
}

// TestSettings: chosen results that are put are applied to searches, come back, and are gone when others are put.
func TestSettings(t *testing.T) {
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{})}
	ctx := t.Context()
	was, err := c.Settings(ctx)
	if err != nil || len(was.Overrides)+len(was.Synonyms)+len(was.Fields) > 0 {
		t.Fatalf("%+v, %v", was, err)
	}
	want := client.Settings{
		Synonyms: []client.Synonyms{
			{Words: []string{"lamp", "lantern"}}, {From: []string{"NYC"}, To: []string{"New York"}},
		},
		Overrides: []client.Override{
			{Questions: []string{"Who hid the lamp?"}, Pin: []string{"rice"}, Hide: []string{"foxes"}},
		},
		Fields: map[string]string{"page": "keyword"},
	}
	put, err := c.PutSettings(ctx, want)
	if err != nil || len(put.Misfits) != 1 || put.Misfits[0].Field != "page" || put.Misfits[0].Passages != 1 {
		t.Errorf("%+v, %v", put, err)
	}
	got, err := c.Settings(ctx)
	if err != nil || len(got.Synonyms) != 2 || !slices.Equal(got.Synonyms[1].To, want.Synonyms[1].To) ||
		len(got.Overrides) != 1 || !slices.Equal(got.Overrides[0].Hide, want.Overrides[0].Hide) {
		t.Errorf("%+v, %v", got, err)
	}
	found := func() (ids []string) {
		answer, err := c.Search(ctx, client.SearchRequest{Question: "who hid the lamp"})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range answer.Results {
			ids = append(ids, r.ID)
		}
		return ids
	}
	if ids := found(); !slices.Equal(ids, []string{"rice", "lamps/1"}) {
		t.Errorf("with chosen results: %v", ids)
	}
	got.Overrides = nil // the rest as it came back
	got, err = c.PutSettings(ctx, got)
	if err != nil || len(got.Overrides) > 0 || len(got.Synonyms) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if ids := found(); ids[0] != "lamps/1" || len(ids) != 3 {
		t.Errorf("without: %v", ids)
	}
	impossible := client.Settings{Overrides: []client.Override{{Questions: []string{"when"}}}}
	if _, err := c.PutSettings(ctx, impossible); client.Code(err) != "out_of_range" {
		t.Error(err)
	}
}

// TestQuestions: what searches asked is listed by the verdicts that they got, and can be removed by question and as a
// whole.
func TestQuestions(t *testing.T) {
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{
		Passages: realclients.Enough(t), Change: keepQuestions,
	})}
	ctx := t.Context()
	verdicts := map[string]string{}
	for _, question := range []string{
		"who hid the lamp under his coat", "how long does cooked rice keep", "xylophone tuning", "who painted it",
	} {
		answer, err := c.Search(ctx, client.SearchRequest{Question: question})
		if err != nil || answer.Verdict == "" {
			t.Fatalf("%+v, %v", answer, err)
		}
		verdicts[question] = answer.Verdict
	}
	unanswered, err := c.Unanswered(ctx)
	if err != nil || unanswered.Keep != 10 {
		t.Fatalf("%+v, %v", unanswered, err)
	}
	answered, err := c.Answered(ctx)
	if err != nil || answered.Keep != 10 || answered.Askers != 1 {
		t.Fatalf("%+v, %v", answered, err)
	}
	for _, q := range unanswered.Questions {
		if q.Verdict != verdicts[q.Question] || q.Asked != 1 || q.First.IsZero() || q.Filtered {
			t.Errorf("%+v, and the search said %q", q, verdicts[q.Question])
		}
	}
	for _, q := range answered.Questions {
		if verdicts[q.Question] != "found" || !q.Offered || q.Restricted {
			t.Errorf("%+v, and the search said %q", q, verdicts[q.Question])
		}
	}
	if len(unanswered.Questions) < 2 || len(answered.Questions) < 2 {
		t.Fatalf("verdicts %v give %d unanswered and %d answered questions",
			verdicts, len(unanswered.Questions), len(answered.Questions))
	}
	for _, remove := range []struct {
		question string
		want     int
	}{{unanswered.Questions[0].Question, 1}, {"nobody asked this", 0}, {"", len(unanswered.Questions) - 1}} {
		if n, err := c.RemoveUnanswered(ctx, remove.question); n != remove.want || err != nil {
			t.Errorf("removing %q: %d, %v; want %d", remove.question, n, err, remove.want)
		}
	}
	if n, err := c.RemoveAnswered(ctx, answered.Questions[0].Question); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	answered, err = c.Answered(ctx)
	if err != nil || len(answered.Questions) == 0 {
		t.Errorf("%+v, %v", answered, err)
	}
	if err := c.Judge(ctx, "how long does cooked rice keep", "rice", true); err != nil {
		t.Error(err)
	}
	if err := c.Judge(ctx, "how long does cooked rice keep", "nobody", false); client.Code(err) != "unknown_passage" {
		t.Error(err)
	}
}

// TestSnapshots: a snapshot that was made is listed until it is removed.
func TestSnapshots(t *testing.T) {
	c := client.Client{Address: realclients.Server(t, realclients.ServerOptions{})}
	job, err := c.Snapshot(t.Context(), "monday")
	if err == nil {
		_, err = c.Wait(t.Context(), job.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	kept, err := c.Snapshots(t.Context())
	if err != nil || len(kept) != 1 || kept[0].Name != "monday" || kept[0].Passages != 3 || kept[0].Created.IsZero() {
		t.Errorf("%+v, %v", kept, err)
	}
	if err := c.RemoveSnapshot(t.Context(), "monday"); err != nil {
		t.Error(err)
	}
	kept, err = c.Snapshots(t.Context())
	if err != nil || len(kept) > 0 {
		t.Errorf("%+v, %v", kept, err)
	}
	if err := c.RemoveSnapshot(t.Context(), "monday"); client.Code(err) != "unknown_snapshot" {
		t.Error(err)
	}
}
