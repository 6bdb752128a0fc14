package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
)

// Filter names the passages that a search may find: those that have every tag
// of TagsAll and at least one of TagsAny. An empty list asks for nothing, so
// that the zero value lets all passages through. Tags are compared byte by byte;
// one that no passage has lets nothing through.
type Filter struct {
	TagsAll []string `json:"tags_all,omitempty"`
	TagsAny []string `json:"tags_any,omitempty"`
	// Documents are the ids of documents: passages of others are not found.
	Documents []string `json:"documents,omitempty"`
	// Condition says what else a passage has to meet. Its own tags are those above.
	conditions.Condition

	// Must and MustNot are those of a Request.
	Must    []string `json:"-"`
	MustNot []string `json:"-"`
	// Where is what Condition means, by the types of the fields: the engine says it to a View.
	Where conditions.Node `json:"-"`
}

// empty reports whether the filter lets all passages through.
func (f Filter) empty() bool {
	return len(f.TagsAll)+len(f.TagsAny)+len(f.Documents)+len(f.Must)+len(f.MustNot) == 0 && f.Condition.Empty()
}

// Check returns an *Error when a filter is beyond the limits or names an empty tag.
func (f Filter) Check() error {
	var wrong problems
	wrong.filter(f)
	return wrong.err()
}

// filter checks a filter against the limits.
func (w *problems) filter(f Filter) {
	w.tags("/filter/tags_all", f.TagsAll)
	w.tags("/filter/tags_any", f.TagsAny)
	w.documents("/filter/documents", f.Documents)
	for _, p := range f.Condition.Check(func(pointer string, tags []string) { w.tags("/filter"+pointer, tags) }) {
		w.add(p.Code, "/filter"+p.Pointer, "%s", p.Detail)
	}
	w.wordings("/must", f.Must)
	w.wordings("/must_not", f.MustNot)
}

// What a request may say of words that passages have, or have not.
const (
	MaxWordings     = 64
	MaxWordingBytes = 512
)

// wordings checks a list of words and phrases.
func (w *problems) wordings(pointer string, list []string) {
	if len(list) > MaxWordings {
		w.add("too_many_words", pointer, "there are %d words and phrases: at most %d are allowed", len(list), MaxWordings)
		return
	}
	for i, text := range list {
		at := wording.Pointer(pointer, i)
		switch {
		case !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
			w.add(
				"empty_word",
				at,
				"%s has no letter or digit: no passage could be told by it; leave it out",
				wording.Quote(text),
			)
		case len(text) > MaxWordingBytes:
			w.add(
				"word_too_long",
				at,
				"%s has %d bytes: at most %d are allowed",
				wording.Quote(text),
				len(text),
				MaxWordingBytes,
			)
		}
		if len(*w) > maxProblems {
			break
		}
	}
}

// MaxDocuments is how many documents a filter may name.
const MaxDocuments = 64

// documents checks the ids of documents.
func (w *problems) documents(pointer string, ids []string) {
	if len(ids) > MaxDocuments {
		w.add("out_of_range", pointer, "there are %d documents: at most %d are allowed", len(ids), MaxDocuments)
		return
	}
	for i, id := range ids {
		at := wording.Pointer(pointer, i)
		switch {
		case strings.TrimSpace(id) == "":
			w.add("out_of_range", at, "the id %s is empty: no document has it; leave it out", wording.Quote(id))
		case len(id) > corpus.MaxIDBytes:
			w.add("out_of_range", at, "the id has %d bytes: at most %d are allowed", len(id), corpus.MaxIDBytes)
		}
		if len(*w) > maxProblems {
			break
		}
	}
}

func (w *problems) tags(pointer string, tags []string) {
	if len(tags) > MaxFilterTags {
		w.add("too_many_tags", pointer, "there are %d tags: at most %d are allowed", len(tags), MaxFilterTags)
		return
	}
	for i, tag := range tags {
		at := wording.Pointer(pointer, i)
		switch {
		case strings.TrimSpace(tag) == "":
			w.add("empty_tag", at, "the tag %s is empty: no passage has it; leave it out", wording.Quote(tag))
		case len(tag) > corpus.MaxTagBytes:
			w.add(
				"tag_too_long",
				at,
				"the tag %s has %d bytes: at most %d are allowed",
				wording.Quote(tag),
				len(tag),
				corpus.MaxTagBytes,
			)
		}
		if len(*w) > maxProblems {
			break
		}
	}
}

// refusal returns the *Error of a filter whose values do not fit, and nil for other errors.
func refusal(err error) *Error {
	var misfit *conditions.MisfitError
	if !errors.As(err, &misfit) {
		return nil
	}
	var wrong problems
	for _, p := range misfit.Problems {
		wrong.add(p.Code, "/filter"+p.Pointer, "%s", p.Detail)
	}
	var refused *Error
	errors.As(wrong.err(), &refused)
	return refused
}

// narrow lets the view's indexes find what a filter lets through and nothing
// else. It is called before any source is asked, so that all of them see the
// same. A request has one filter: where a question is asked twice, the second narrows nothing.
func (p *pinned) narrow(ctx context.Context, f Filter) error {
	if f.empty() && restrictionOf(ctx) == nil {
		return nil
	}
	p.narrowing.Lock()
	defer p.narrowing.Unlock()
	if p.selected != nil {
		return nil
	}
	where, wrong := f.Condition.Compile(p.types)
	if wrong != nil {
		return &conditions.MisfitError{Problems: wrong}
	}
	if only := p.restriction(ctx); !only.LetsAll() {
		where = conditions.Node{Op: conditions.And, Nodes: []conditions.Node{where, only}}
	}
	f.Where = where
	p.where = where
	return guard(func() error {
		indexes, n, err := p.View.Among(ctx, f)
		if err != nil {
			p.showValues(ctx, err)
			return fmt.Errorf("selecting passages by the filter: %w", err)
		}
		p.narrowed, p.selected = indexes, n
		return nil
	})
}
