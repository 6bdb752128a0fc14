package indexing

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/languages"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
)

// The values of Options.Language beside codes of languages (ISO 639-1).
const (
	LanguageAuto  = "auto"  // those of the first passages
	LanguageMulti = "multi" // several
)

// LanguageChoice is what the languages of a new collection's passages chose.
type LanguageChoice struct {
	Languages []string       // their codes, the most frequent first
	Experts   []string       // that encode the passages
	Analysis  forms.Analysis // of their words
	// Missing says that the expert for other languages than English is not there, and that default ones were chosen.
	Missing bool
	// WithoutLate says that late interaction for that expert is not there.
	WithoutLate bool
}

// mostPeeked is how many passages are read ahead to tell the languages of a new collection.
const mostPeeked = 64

// peekedStream is a stream whose first passages were read before.
type peekedStream struct {
	corpus.Stream
	ahead []peekedPassage
	place corpus.Place
}

// peekedPassage is what Next returned, and its place.
type peekedPassage struct {
	passage corpus.Passage
	err     error
	place   corpus.Place
}

// peek reads the first passages of source, at most n, and returns them together with a stream that begins with them
// again. It stops early at the end and at an error after which source cannot go on; the stream returns the errors in
// their places.
func peek(source corpus.Stream, n int) (s *peekedStream, first []corpus.Passage) {
	s = &peekedStream{Stream: source}
	for len(first) < n {
		p, err := source.Next()
		s.ahead = append(s.ahead, peekedPassage{p, err, source.Place()})
		var bad *corpus.ReadError
		switch {
		case err == nil:
			first = append(first, p)
		case errors.Is(err, io.EOF), !errors.As(err, &bad) || !bad.Recoverable:
			return s, first
		}
	}
	return s, first
}

// Next returns the passages and errors that were peeked at, and then those of Stream, in their order; io.EOF at the
// end.
func (s *peekedStream) Next() (corpus.Passage, error) {
	if len(s.ahead) == 0 {
		p, err := s.Stream.Next()
		s.place = s.Stream.Place()
		return p, err
	}
	next := s.ahead[0]
	s.ahead = s.ahead[1:]
	s.place = next.place
	return next.passage, next.err
}

// Place returns where the passage that Next returned last comes from.
func (s *peekedStream) Place() corpus.Place { return s.place }

// toldStream is a stream of passages in several languages that have the code of theirs as metadata
// (corpus.WithLanguage).
type toldStream struct {
	corpus.Stream
	languages []string // codes
}

// Next returns the next passage of the stream, with its language where it has none of its own. It returns the stream's
// error, which is io.EOF at its end.
func (s *toldStream) Next() (corpus.Passage, error) {
	p, err := s.Stream.Next()
	if err != nil {
		return p, err
	}
	return corpus.WithLanguage(p, s.languages), nil
}

// leavingStream is a stream that counts the passages which experts leave to others that read their language.
type leavingStream struct {
	corpus.Stream
	experts []*experts.Expert
	leftOut map[string]int64 // by the name of the expert
}

// Next returns the next passage of the stream, or the stream's error, which is io.EOF at its end.
func (s *leavingStream) Next() (corpus.Passage, error) {
	p, err := s.Stream.Next()
	for _, e := range s.experts {
		if err == nil && e.LeavesToOthers(p) {
			s.leftOut[e.Name()]++
		}
	}
	return p, err
}

// languagesOf returns the codes of the languages of an existing collection: those that it was made for if its settings
// name several, or else those of a sample of its passages, or of the first ones that are added where it has none that
// can be read yet. It fails if the settings or the sample cannot be read.
func languagesOf(ctx context.Context, at store.Location, first []corpus.Passage) ([]string, error) {
	said, err := settingsOf(ctx, at, nil)
	if err != nil || len(said.Languages) > 1 {
		return said.Languages, err
	}
	sample, err := at.Sample(ctx, mostPeeked)
	if len(sample) == 0 {
		sample = first
	}
	return (&Sample{kept: sample}).languages(), err
}

// chooseByLanguage returns the experts and the analysis of words for passages in o.Language, or else in the languages
// of the first passages. It keeps o.Experts, and an analysis other than the default one. ok is false if nothing is to
// be chosen: the language is English or not clear. The error is an *ExpertChoiceError if o.Experts names an unknown
// expert.
//
// Passages in other languages are encoded by the expert that reads many and its late interaction, also if some are in
// English; if most are, by the default ones, too (shipped.ChooseForLanguages). If it has no bundle here,
// choice.Missing is set, and the default experts are chosen; if its late interaction has none, choice.WithoutLate is.
func (o *Options) chooseByLanguage(first []corpus.Passage) (choice LanguageChoice, ok bool, err error) {
	switch o.Language {
	case "", LanguageAuto:
		s := &Sample{kept: first}
		choice.Languages = s.languages()
	case LanguageMulti:
		s := &Sample{kept: first}
		choice.Languages = s.languages()
		if !slices.Contains(choice.Languages, shipped.English) {
			choice.Languages = append(choice.Languages, shipped.English)
		}
	default:
		choice.Languages = []string{o.Language}
	}
	if o.Language != LanguageMulti && !slices.ContainsFunc(choice.Languages, isForeign) {
		return choice, false, nil
	}
	choice.Analysis = o.Build.Words.Analysis
	if choice.Analysis == forms.Unicode {
		choice.Analysis = forms.OfLanguages(choice.Languages)
	}
	asked := o.Experts
	if asked == "" {
		has := func(name string) bool { return experts.HasBundle(o.Config, name) }
		choice.Missing = !has(shipped.Multilingual)
		codes := choice.Languages
		if o.Language == LanguageMulti {
			codes = append(slices.Clone(codes), LanguageMulti) // others than were seen so far
		}
		asked = shipped.ChooseForLanguages(codes, has)
		choice.WithoutLate = !choice.Missing && !has(shipped.MultilingualLate)
	}
	choice.Experts, err = shipped.Chosen(asked)
	if err != nil {
		return choice, false, &ExpertChoiceError{ChoiceOfExperts, err}
	}
	return choice, true, nil
}

// CheckLanguage returns an error unless a value of Options.Language is LanguageAuto, LanguageMulti or the code of a
// language.
func CheckLanguage(code string) error {
	if code == LanguageAuto || code == LanguageMulti || languages.NameOf(code) != code {
		return nil
	}
	return errors.New("the language " + strings.ToValidUTF8(code, "?") +
		" is not known: auto, multi, or a code such as en, de, fr or zh (ISO 639-1) is possible")
}
