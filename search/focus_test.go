package search

import (
	"context"
	"reflect"
	"testing"

	"example.org/conclave/fusion"
)

// equalVectors gives all questions one vector, so that none is nearer to the passages.
type equalVectors struct{ limitedEncoder }

func (equalVectors) EncodeQuestion(context.Context, string) ([]float32, error) {
	return draw(1, "one"), nil
}

// TestLongQuestions: of talk around a question the question is answered, wherever it
// stands, and of a traceback its last line: with the results of asking that alone.
func TestLongQuestions(t *testing.T) {
	s := newStage("AB", 60)
	s.config.Experts[0].Representatives = nil
	for i, name := range []string{"A", "B"} {
		s.config.Experts[i].Encoder = equalVectors{limitedEncoder{s.encoders[name]}}
	}
	talk := "It rained. We stayed in. The dog slept. Then it was late. Nobody called us."
	for text, want := range map[string]string{
		talk + " Where do green birds go?":                           "Where do green birds go?",
		"Where do green birds go? " + talk:                           "Where do green birds go?",
		talk + " Where is the bird? " + talk:                         "Where is the bird?",
		"at one\nat two\nat three\nat four\nKeyError: no green bird": "KeyError: no green bird",
	} {
		long := s.ask(t, Request{Question: text, Fusion: methodsOf(fusion.MethodRRF)})
		if long.Asked != want || long.Question != text {
			t.Errorf("%q: asked %q", text, long.Asked)
			continue
		}
		short := s.ask(t, Request{Question: want, Fusion: methodsOf(fusion.MethodRRF)})
		if short.Asked != "" || !reflect.DeepEqual(short.Results, long.Results) {
			t.Errorf("%q has other results than alone", text)
		}
		for _, source := range long.Sources {
			if source.Truncated {
				t.Errorf("%q: %s read only the beginning", text, source.Name)
			}
		}
	}
	fits := "red green blue cat dog"
	if r := s.ask(t, Request{Question: fits}); r.Asked != "" {
		t.Errorf("of what fits %q is asked", r.Asked)
	}
}

// oneVector gives all questions one vector and reads them whole.
type oneVector struct{ *encoder }

func (oneVector) EncodeQuestion(context.Context, string) ([]float32, error) {
	return draw(1, "one"), nil
}

// TestShortMails: of a mail that the encoders read whole the question is answered; two or three sentences are asked as
// they are.
func TestShortMails(t *testing.T) {
	s := newStage("AB", 60)
	s.config.Experts[0].Representatives = nil
	for i, name := range []string{"A", "B"} {
		s.config.Experts[i].Encoder = oneVector{s.encoders[name]}
	}
	for text, want := range map[string]string{
		"Dear Anna Lund,\nwe met in the rain last week.\nWhere do green birds go?\nYours for ever, Tom": "Where do green birds go?",
		"It rained all day long. Where do green birds go in the rain?":                                  "",
	} {
		if got := s.ask(t, Request{Question: text, Fusion: methodsOf(fusion.MethodRRF)}); got.Asked != want {
			t.Errorf("%q: asked %q, want %q", text, got.Asked, want)
		}
	}
}

// TestMessages: the last message of the user is asked; with the title of the passage that answered the one before
// where that makes the answer surer, and it is short.
func TestMessages(t *testing.T) {
	s, _, _ := lateStage()
	s.config.Experts[0].Representatives = nil
	say := func(texts ...string) (messages []Message) {
		for i, text := range texts {
			messages = append(messages, Message{[]string{"user", "assistant"}[i%2], text})
		}
		return messages
	}
	for _, c := range []struct {
		messages []Message
		want     string // asked, "" for the last
	}{
		{say("green bird"), ""},
		{say("what do red cats eat", "Fish.", "and birds?"), "and birds? (" + s.ask(t, Request{Question: "what do red cats eat"}).Results[0].Title + ")"},
		{say("what do red cats eat", "Fish.", "where does a green bird sleep when the red cat is awake?"), ""},
	} {
		s.config.Defaults.Chances = lengthy{}
		r := s.ask(t, Request{Messages: c.messages, Fusion: methodsOf(fusion.MethodGate)})
		if last := c.messages[len(c.messages)-1].Content; r.Question != last || r.Asked != c.want {
			t.Errorf("%q: question %q, asked %q, want %q", c.messages, r.Question, r.Asked, c.want)
		}
	}
	for _, bad := range []Request{
		{Messages: []Message{{"assistant", "hello"}}},
		{Messages: []Message{{"user", " "}}},
		{Messages: []Message{{"nobody", "hello"}, {"user", "hello"}}},
		{Question: "both", Messages: say("hello")},
		{},
	} {
		s.refused(t, bad)
	}
}

// lengthy is surer of answers to more words.
type lengthy struct{}

func (lengthy) Of(signals []float64, k int) (float64, error) {
	return min(.2+signals[7], .99), nil
}
