package server

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/store"
)

// TestRefusesWhatDoesNotFit: before anything is encoded, and what was read is removed.
// Where there is room, nothing is refused, and an expert is added under the same rule.
func TestRefusesWhatDoesNotFit(t *testing.T) {
	s := newSite(t, []tiny.Expert{{Name: "base", MaxTokens: models.MaxTokens{Question: 24, Passage: 24}}})
	s.config.Collection = filepath.Join(s.dir, "made")
	var lines strings.Builder
	const passages = 500
	for i := range passages {
		_, _ = fmt.Fprintf(&lines, "{\"id\":\"%d\",\"text\":\"an old fox and a lamp\"}\n", i)
	}
	// By the estimate: twice the text, of which one is stored when it is looked at, and
	// the vectors.
	text := int64(passages * len("an old fox and a lamp"))
	const vector = 5*32/2 + 110 // of a tiny expert
	needed := text + passages*vector
	encoded := false
	free := needed - 1
	options := func(experts string) indexing.Options {
		encoded = false
		return indexing.Options{
			Config:  s.config,
			Log:     slog.New(slog.DiscardHandler),
			Inputs:  []corpus.Input{{Path: "-", Stdin: strings.NewReader(lines.String())}},
			Experts: experts,
			Free: func(path string) (int64, bool) {
				_, err := os.Stat(path)
				return free, err == nil
			},
			Build: store.BuildOptions{Progress: func(p store.Progress) { encoded = encoded || p.Stage == store.Encoding }},
		}
	}
	var refused *indexing.RoomError
	_, err := indexing.Index(t.Context(), options("base"))
	if !errors.As(err, &refused) || refused.Need != needed || refused.Free != free || encoded {
		t.Fatalf("%+v, %v, encoded: %t; %d are needed", refused, err, encoded, needed)
	}
	if _, err := os.Stat(s.config.Collection); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
	free = text
	if made, err := indexing.Index(t.Context(), options("none")); err != nil || made.Passages != passages {
		t.Fatalf("words alone: %+v, %v", made, err)
	}
	add := options("")
	add.Inputs, add.Add = nil, "base"
	free = passages*vector - 1
	_, err = indexing.Index(t.Context(), add)
	if !errors.As(err, &refused) || encoded {
		t.Fatalf("an expert beside it: %v", err)
	}
	free++
	_, err = indexing.Index(t.Context(), add)
	if err != nil || !encoded {
		t.Fatalf("an expert beside it, with room: %v", err)
	}
}
