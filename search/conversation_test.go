package search

import (
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/identity"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/reply"
)

// scores returns the scores of the passages that answer a request with this question, by their ids.
func (s *stage) scores(t *testing.T, r Request, question string) map[string]float64 {
	t.Helper()
	r.Question = question
	out := map[string]float64{}
	for _, x := range s.ask(t, r).Results {
		out[x.ID] = x.Score
	}
	return out
}

// TestEarlierMessagesAddUp: with messages before it, a passage's score is that of the question by itself,
// and with the weight of its length how far that with the title of the earlier answer lies above the least; the
// contributions add up. (Of the other methods, the weights and ranks are those among all candidates.)
func TestEarlierMessagesAddUp(t *testing.T) {
	s, _, _ := lateStage()
	before, last := "what do red cats eat", "and green birds?"
	const weight = .7 // of three words: 4/3 is more
	for _, method := range []string{fusion.MethodGate, fusion.MethodRRF, fusion.MethodSum} {
		all := Request{Fusion: methodsOf(method), K: 50, Candidates: 60}
		if method == fusion.MethodSum {
			all.Normalisation = "raw"
		}
		about := s.ask(t, Request{Question: before}).Results[0].Title
		alone, behind := s.scores(t, all, last), s.scores(t, all, last+" ("+about+")")
		r := all
		r.Messages = []Message{{"user", before}, {"assistant", "Fish."}, {"user", last}}
		got := s.ask(t, r)
		if len(got.Results) < 3 {
			t.Fatalf("%s: %d results", method, len(got.Results))
		}
		moved := false
		least := math.NaN() // the same for all: more passages have both scores than either question finds
		for i, x := range got.Results {
			sum := 0.0
			for _, c := range x.Contributions {
				sum += c.Contribution
			}
			if math.Abs(sum-x.Score) > 1e-6 {
				t.Errorf("%s: %s has %v, and its contributions add up to %v", method, x.ID, x.Score, sum)
			}
			c := x.Contributions[len(x.Contributions)-1]
			if c.Source != reply.EarlierSource || c.Origin != reply.OriginEarlier || math.Abs(c.Weight-weight) > 1e-9 {
				t.Errorf("%s: %s: %+v", method, x.ID, c)
			}
			own, found := alone[x.ID]
			other, foundToo := behind[x.ID]
			if method == fusion.MethodSum && found && foundToo {
				if math.IsNaN(least) {
					least = other - (x.Score-own)/weight
				}
				if math.Abs(x.Score-own-weight*(other-least)) > 1e-6 {
					t.Errorf("%s: %s has %v, want %v and %v times %v", method, x.ID, x.Score, own, weight, other-least)
				}
			}
			if i > 0 && x.Score > got.Results[i-1].Score {
				t.Errorf("%s: %s is behind a lower score", method, x.ID)
			}
			moved = moved || c.Contribution > 0
		}
		if !moved {
			t.Errorf("%s: the messages before say the same of all passages", method)
		}
	}
}

// TestTopicIsOfADocument: the passages of the document that the earlier message was answered from have 0.7 of the
// spread of the first 50 more than the title says, those of other documents and of none do not, and a repeated
// conversation is answered alike.
func TestTopicIsOfADocument(t *testing.T) {
	s, _, _ := lateStage()
	for i := range s.library.shelf.passages[:40] { // the others are of no document
		s.library.shelf.passages[i].ID = fmt.Sprintf("b%02d#%d", i/4, i%4+1)
	}
	before, last := "what do red cats eat", "and green birds?"
	first := s.ask(t, Request{Question: before}).Results[0]
	document, _, ok := corpus.SplitPassageID(first.ID)
	if !ok {
		t.Fatalf("%s is of no document: the test needs another question", first.ID)
	}
	all := Request{Fusion: methodsOf(fusion.MethodSum), Normalisation: "raw", K: 60, Candidates: 60}
	alone, about := s.scores(t, all, last), s.scores(t, all, last+" ("+first.Title+")")
	sorted := slices.Sorted(maps.Values(alone))
	slices.Reverse(sorted)
	spread := sorted[0] - sorted[49]
	least := slices.Min(slices.Collect(maps.Values(about)))
	r := all
	r.Messages = []Message{{"user", before}, {"user", last}}
	got := s.ask(t, r)
	if len(got.Results) != 60 || !reflect.DeepEqual(s.ask(t, r).Results, got.Results) {
		t.Fatalf("%d results, or others the second time", len(got.Results))
	}
	for _, x := range got.Results {
		want := alone[x.ID] + .7*(about[x.ID]-least)
		if in, _, ok := corpus.SplitPassageID(x.ID); ok && in == document {
			want += .7 * .7 * spread
		}
		if math.Abs(x.Score-want) > 1e-6 {
			t.Errorf("%s has %v, want %v", x.ID, x.Score, want)
		}
	}
}

// TestTopicsAreSmall: what is remembered of a conversation does not grow with a title.
func TestTopicsAreSmall(t *testing.T) {
	s, _, _ := lateStage()
	for i := range s.library.shelf.passages {
		s.library.shelf.passages[i].Title = strings.Repeat("é", 30_000)
	}
	engine := s.engine(t)
	r := Request{Messages: []Message{{"user", "what do red cats eat"}, {"user", "and green birds?"}}}
	if _, err := engine.Search(t.Context(), Caller{}, r); err != nil {
		t.Fatal(err)
	}
	for _, topic := range engine.current.Load().topics.known {
		if n := len(topic.Title); n == 0 || n > 256 || !utf8.ValidString(topic.Title) {
			t.Errorf("a title of %d bytes is held", n)
		}
	}
}

// TestTopicsAreOfACaller: what a conversation is about is remembered for one caller and what that one may see.
func TestTopicsAreOfACaller(t *testing.T) {
	s, _, _ := lateStage()
	engine := s.engine(t)
	r := Request{Messages: []Message{{"user", "what do red cats eat"}, {"user", "and green birds?"}}}
	plain := t.Context()
	even := identity.Restrict(plain, &conditions.Condition{TagsAll: []string{"even"}})
	for i, ctx := range []context.Context{plain, even, identity.WithName(even, "anna"), plain, even} {
		if _, err := engine.Search(ctx, Caller{}, r); err != nil {
			t.Fatal(err)
		}
		if held := len(engine.current.Load().topics.known); held != min(i+1, 3) {
			t.Errorf("%d topics are held after the callers up to %d, want %d", held, i, min(i+1, 3))
		}
	}
}

// TestEarlierMessagesOfAList: each ranking of a list of methods is what the method gives alone.
func TestEarlierMessagesOfAList(t *testing.T) {
	s, _, _ := lateStage()
	messages := []Message{{"user", "what do red cats eat"}, {"user", "and green birds?"}}
	names := []string{fusion.MethodRRF, fusion.MethodSum}
	listed := s.ask(t, Request{Messages: messages, Fusion: Methods{Names: names, Listed: true}})
	for i, name := range names {
		one := s.ask(t, Request{Messages: messages, Fusion: methodsOf(name)})
		for n, x := range listed.Rankings[i].Results {
			if x.ID != one.Results[n].ID || x.Score != one.Results[n].Score ||
				len(x.Contributions) != len(one.Results[n].Contributions) {
				t.Errorf("%s: result %d is %s with %v, alone %s with %v", name, n+1, x.ID, x.Score,
					one.Results[n].ID, one.Results[n].Score)
			}
		}
	}
}

// TestWhatFollows: the confidence is that of the question whose first passage is first.
func TestWhatFollows(t *testing.T) {
	low, high := .2, .9
	for _, c := range []struct {
		alone, behind bool
		sure, surer   *float64
		want          bool
	}{
		{true, false, &low, &high, false},
		{false, true, &high, &low, true},
		{true, true, &low, &high, true},
		{true, true, &high, &low, false},
		{false, false, &low, &high, false}, // the lower
		{false, false, &high, &low, true},
		{true, true, nil, nil, false},
	} {
		if got := answering.FollowsEarlier(c.alone, c.behind, c.sure, c.surer); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestAnswerableBehind: what was asked before raises the chance that a message is answered, and never
// lowers it.
func TestAnswerableBehind(t *testing.T) {
	for _, c := range []struct{ alone, behind, want float64 }{
		{.5, .5, .5},
		{.5, 243. / 244, .75}, // odds of 243, to the power of a fifth 3
		{.1, .01, .1},
		{1. / 244, 243. / 244, 1. / 82}, // 1 to 243, times 3
	} {
		got := *answering.AnswerableBehind(&c.alone, &c.behind)
		if math.Abs(got-c.want) > 1e-4 {
			t.Errorf("%v behind %v is %v, want %v", c.alone, c.behind, got, c.want)
		}
	}
	known := .5
	if answering.AnswerableBehind(nil, &known) != nil || answering.AnswerableBehind(&known, nil) != &known {
		t.Error("what is not known counts")
	}
}
