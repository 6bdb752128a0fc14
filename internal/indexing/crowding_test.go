package indexing

import (
	"io"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// long is a source that says how much of it was read.
type long struct{ at, total int64 }

func (l *long) Next() (corpus.Passage, error) {
	if l.at++; l.at > l.total {
		return corpus.Passage{}, io.EOF
	}
	return corpus.Passage{ID: "x", Text: strings.Repeat("t", 600)}, nil
}
func (l *long) Place() corpus.Place           { return corpus.Place{} }
func (l *long) Progress() (done, total int64) { return l.at * 700, l.total * 700 }

// dense has vectors of 384 numbers; tokens are those of late interaction.
type dense struct{ store.PassageEncoder }

func (dense) Dimension() int { return 384 }
func (dense) Late() bool     { return false }
func (dense) Owner() string  { return "" }

type tokens struct{ dense }

func (tokens) Late() bool { return true }

// TestCrowding, worked by hand: 50 million passages of 600 bytes take 1,800 bytes each for texts and
// words, 1,700 for a vector and 11,400 for codes: 745 GB, of which a shard holds 53.7.
func TestCrowding(t *testing.T) {
	experts := []store.PassageEncoder{dense{}, tokens{}}
	s := &Sample{Stream: &long{total: 50_000_000}}
	for range 255 {
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if _, known := s.estimateCrowding(experts, 3); known {
		t.Error("255 passages tell")
	}
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	c, known := s.estimateCrowding(experts, 3)
	if want := (Crowding{50_000_000, 745_000_000_000, 3, 14}); !known || c == nil || *c != want {
		t.Errorf("%+v, %v, not %+v", c, known, want)
	}
	if c, known := s.estimateCrowding(experts, 14); !known || c != nil {
		t.Errorf("14 shards: %+v, %v", c, known)
	}
	if c, known := s.estimateCrowding(nil, 3); !known || c != nil { // 90 GB
		t.Errorf("words alone: %+v, %v", c, known)
	}
}
