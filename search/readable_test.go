package search

import (
	"context"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
)

// limitedEncoder reads five words.
type limitedEncoder struct{ *encoder }

func (limitedEncoder) QuestionTokens(text string) (int, bool) {
	n := len(strings.Fields(text))
	return min(n, 5), n > 5
}
func (e limitedEncoder) PassageTokens(p corpus.Passage) (int, bool) {
	return e.QuestionTokens(p.Title + " " + p.Text)
}

// shortWords is a limitedEncoder that reads words of at most five letters to their end.
type shortWords struct{ limitedEncoder }

func (shortWords) QuestionTokens(text string) (int, bool) { return 1, len(text) > 5 }

// An answer says which sources read only the beginning of a question that cannot be cut:
// here one expert, not the one whose encoder has no limit, and never BM25.
func TestTruncatedQuestions(t *testing.T) {
	s := newStage("AB", 60)
	s.config.Experts[1].Passages = limitedEncoder{s.encoders["B"]}
	s.config.Experts[1].Encoder = shortWords{limitedEncoder{s.encoders["B"]}}
	for text, want := range map[string]bool{"green": false, "greenish": true} {
		for _, source := range s.ask(t, Request{Question: text}).Sources {
			if source.Truncated != (want && source.Name == "B") {
				t.Errorf("%q: %+v", text, source)
			}
		}
	}
	s.config.Experts[1].Encoder = limitedEncoder{s.encoders["B"]}
	e := s.engine(t)
	texts := []string{"a b c d e f", "a", "a b c d e", "f e d c b a"}
	for name, want := range map[string][]int{"A": nil, "B": {0, 3}} {
		for _, kind := range []string{learned.KindQuestion, learned.KindPassage} {
			got, err := e.Embed(context.Background(), Caller{}, lookup.EmbedRequest{Expert: name, Kind: kind, Input: texts})
			tokens := map[string]int{"A": 0, "B": 16}[name]
			if err != nil || !slices.Equal(got.Truncated, want) || got.Tokens != tokens {
				t.Errorf(
					"%s of %s: %d tokens, truncated %v, want %d and %v (%v)",
					kind,
					name,
					got.Tokens,
					got.Truncated,
					tokens,
					want,
					err,
				)
			}
		}
	}
}

// Experts that share an encoder all read the same beginning.
func TestTruncatedForAllThatShare(t *testing.T) {
	s := newStage("AB", 20)
	shared := shortWords{limitedEncoder{s.encoders["A"]}}
	s.config.Experts[0].Encoder, s.config.Experts[1].Encoder = shared, shared
	for _, source := range s.ask(t, Request{Question: "greenish"}).Sources {
		if source.Truncated != (source.Name != reply.WordSource) {
			t.Errorf("%+v", source)
		}
	}
}
