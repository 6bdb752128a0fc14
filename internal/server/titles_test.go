package server

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/questions"
	"example.org/conclave/internal/stores"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/store"
)

// TestTitlesAreTried: where passages differ in their titles alone, parts without titles
// find no more than the first passage, and where a title of all passages takes the room
// of the text, parts with titles do. The better way is indexed, and its figures are told.
func TestTitlesAreTried(t *testing.T) {
	subjects := []string{
		"old fox",
		"cold lamp",
		"two coats and a king",
		"rice",
		"the moon over the sea",
		"a long day of rain",
	}
	long := strings.Repeat("the law of the land and the sea ", 9)
	for name, c := range map[string]struct {
		title, text      func(subject string) string
		expert           string
		titled, untitled float64 // -1: more than the other
	}{
		"needed":  {func(s string) string { return s }, func(string) string { return "It is open all day. It is closed at night." }, "base@1", -1, 1. / 6},
		"harmful": {func(string) string { return long }, func(s string) string { return s }, "base@1-untitled", 1. / 6, 1},
		"useless": {func(string) string { return "" }, func(s string) string { return s }, "base@1", 1, 1},
	} {
		s := newSite(t, []tiny.Expert{{Name: "base", MaxTokens: models.MaxTokens{Question: 24, Passage: 24}}})
		s.config.Collection = filepath.Join(s.dir, name)
		var lines strings.Builder
		asked := questions.Domain{
			Name:      "d",
			Questions: []questions.Question{{ID: "elsewhere", Text: "who", PositiveIDs: []string{"none of these"}}},
		}
		for i, subject := range subjects {
			_, _ = fmt.Fprintf(&lines, "{\"id\":\"%d\",\"title\":%q,\"text\":%q}\n", i, c.title(subject), c.text(subject))
			asked.Questions = append(
				asked.Questions,
				questions.Question{ID: fmt.Sprint(i), Text: subject, PositiveIDs: []string{fmt.Sprint(i)}},
			)
		}
		var reported []indexing.TitleTrial
		o := indexing.Options{
			Config:        s.config,
			Log:           slog.New(slog.DiscardHandler),
			Inputs:        []corpus.Input{{Path: "-", Stdin: strings.NewReader(lines.String())}},
			Experts:       "base",
			Granularities: []string{"1", "passage"},
			Questions:     []questions.Domain{asked},
			Tried:         func(t indexing.TitleTrial) { reported = append(reported, t) },
			Build:         store.BuildOptions{Progress: func(store.Progress) {}},
		}
		made, err := indexing.Index(t.Context(), o)
		if err != nil || len(reported) != 1 || !slices.Equal(reported, made.Titles) || made.Passages != 6 ||
			made.Generation != 2 ||
			len(made.Recall) != 2 {
			t.Fatalf("%s: %+v, told %+v, %v", name, made, reported, err)
		}
		got := reported[0]
		if c.titled < 0 && got.Titled > got.Untitled {
			c.titled = got.Titled
		}
		if want := (indexing.TitleTrial{
			Expert: c.expert, Questions: 6, Passages: 6, Titled: c.titled, Untitled: c.untitled,
		}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		stored, err := stores.Experts(t.Context(), s.config)
		if err != nil || len(stored) != 2 || stored[1].Name != c.expert {
			t.Errorf("%s: %+v, %v", name, stored, err)
		}
		// More granularities, of the collection that is there.
		o.Inputs = nil
		o.Granularities = []string{"2", "2t-untitled"}
		made, err = indexing.Index(t.Context(), o)
		if err != nil || len(made.Titles) != 1 || len(made.Recall) != 2 {
			t.Errorf("%s: %+v, %v", name, made, err)
		}
		var refused *indexing.ExpertChoiceError
		o.Granularities = []string{"3-untitled"}
		_, err = indexing.Index(t.Context(), o)
		if !errors.As(err, &refused) || refused.Of != indexing.ChoiceOfGranularity {
			t.Errorf("%s: nothing to choose: %v", name, err)
		}
		o.Granularities = []string{"3"}
		for what, bad := range map[string]questions.Question{"is in the collection": {ID: "1", PositiveIDs: []string{"none of these"}}, "name no passage": {ID: "1", Answers: []string{"rice"}}} {
			bad.Text = "who"
			o.Questions = []questions.Domain{{Questions: []questions.Question{bad}}}
			_, err = indexing.Index(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: questions that no passage answers: %v", name, err)
			}
		}
	}
}
