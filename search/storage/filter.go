package storage

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
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

// Empty reports whether the filter lets all passages through.
func (f Filter) Empty() bool {
	return len(f.TagsAll)+len(f.TagsAny)+len(f.Documents)+len(f.Must)+len(f.MustNot) == 0 && f.Condition.Empty()
}

// Check returns an *Error when a filter is beyond the limits or names an empty tag.
func (f Filter) Check() error {
	var wrong fault.Problems
	CheckFilter(&wrong, f)
	return wrong.Err()
}

// CheckFilter checks a filter against the limits.
func CheckFilter(w *fault.Problems, f Filter) {
	checkTags(w, "/filter/tags_all", f.TagsAll)
	checkTags(w, "/filter/tags_any", f.TagsAny)
	checkDocuments(w, "/filter/documents", f.Documents)
	for _, p := range f.Condition.Check(func(pointer string, tags []string) { checkTags(w, "/filter"+pointer, tags) }) {
		w.Add(p.Code, "/filter"+p.Pointer, "%s", p.Detail)
	}
	checkWordings(w, "/must", f.Must)
	checkWordings(w, "/must_not", f.MustNot)
}

// What a request may say of words that passages have, or have not.
const (
	MaxWordings     = 64
	MaxWordingBytes = 512
)

// checkWordings checks a list of words and phrases.
func checkWordings(w *fault.Problems, pointer string, list []string) {
	if len(list) > MaxWordings {
		w.Add("too_many_words", pointer, "there are %d words and phrases: at most %d are allowed", len(list), MaxWordings)
		return
	}
	for i, text := range list {
		at := wording.Pointer(pointer, i)
		switch {
		case !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
			w.Add(
				"empty_word",
				at,
				"%s has no letter or digit: no passage could be told by it; leave it out",
				wording.Quote(text),
			)
		case len(text) > MaxWordingBytes:
			w.Add(
				"word_too_long",
				at,
				"%s has %d bytes: at most %d are allowed",
				wording.Quote(text),
				len(text),
				MaxWordingBytes,
			)
		}
		if len(*w) > fault.MaxProblems {
			break
		}
	}
}

// MaxDocuments is how many documents a filter may name.
const MaxDocuments = 64

// checkDocuments checks the ids of documents.
func checkDocuments(w *fault.Problems, pointer string, ids []string) {
	if len(ids) > MaxDocuments {
		w.Add("out_of_range", pointer, "there are %d documents: at most %d are allowed", len(ids), MaxDocuments)
		return
	}
	for i, id := range ids {
		at := wording.Pointer(pointer, i)
		switch {
		case strings.TrimSpace(id) == "":
			w.Add("out_of_range", at, "the id %s is empty: no document has it; leave it out", wording.Quote(id))
		case len(id) > corpus.MaxIDBytes:
			w.Add("out_of_range", at, "the id has %d bytes: at most %d are allowed", len(id), corpus.MaxIDBytes)
		}
		if len(*w) > fault.MaxProblems {
			break
		}
	}
}

func checkTags(w *fault.Problems, pointer string, tags []string) {
	if len(tags) > MaxFilterTags {
		w.Add("too_many_tags", pointer, "there are %d tags: at most %d are allowed", len(tags), MaxFilterTags)
		return
	}
	for i, tag := range tags {
		at := wording.Pointer(pointer, i)
		switch {
		case strings.TrimSpace(tag) == "":
			w.Add("empty_tag", at, "the tag %s is empty: no passage has it; leave it out", wording.Quote(tag))
		case len(tag) > corpus.MaxTagBytes:
			w.Add(
				"tag_too_long",
				at,
				"the tag %s has %d bytes: at most %d are allowed",
				wording.Quote(tag),
				len(tag),
				corpus.MaxTagBytes,
			)
		}
		if len(*w) > fault.MaxProblems {
			break
		}
	}
}

// Refusal returns the *Error of a filter whose values do not fit, and nil for other errors.
func Refusal(err error) *fault.Error {
	var misfit *conditions.MisfitError
	if !errors.As(err, &misfit) {
		return nil
	}
	var wrong fault.Problems
	for _, p := range misfit.Problems {
		wrong.Add(p.Code, "/filter"+p.Pointer, "%s", p.Detail)
	}
	var refused *fault.Error
	errors.As(wrong.Err(), &refused)
	return refused
}

// MaxFilterTags is the most tags of each list of a filter, enough for the groups of an
// access list; no passage has a longer one than corpus.MaxTagBytes.
const MaxFilterTags = 1 << 14

// LetsTags reports whether the filter's tags let a passage through that has some.
func (f Filter) LetsTags(tags []string) bool {
	has := func(tag string) bool { return slices.Contains(tags, tag) }
	lacks := func(tag string) bool { return !has(tag) }
	return !slices.ContainsFunc(f.TagsAll, lacks) && (len(f.TagsAny) == 0 || slices.ContainsFunc(f.TagsAny, has))
}
