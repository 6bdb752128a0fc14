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

// Filter restricts the passages that a search may find: to those that have every tag of TagsAll and at least one of
// TagsAny, and meet the other fields. An empty list restricts nothing, so that the zero value matches all passages.
// Tags are compared byte by byte.
type Filter struct {
	TagsAll []string `json:"tags_all,omitempty"`
	TagsAny []string `json:"tags_any,omitempty"`
	// Documents are ids: only passages of these documents match.
	Documents []string `json:"documents,omitempty"`
	// Condition is a condition on metadata and, in addition to the tags above, on tags.
	conditions.Condition

	// Must are words and phrases that a passage must have, and MustNot those that it must not have (Request.Must).
	Must    []string `json:"-"`
	MustNot []string `json:"-"`
	// Hidden are passages, or documents with all their passages, that do not match. A search has them from the
	// collection's settings; one that does not exist hides nothing.
	Hidden []Reference `json:"-"`
	// Where is Condition, compiled by the types of the fields; the engine sets it for View.Among.
	Where conditions.Node `json:"-"`
}

// Reference names a passage, or a document, by its id. Collection is the name of its collection if several are searched
// as one, otherwise "".
type Reference struct{ Collection, ID string }

// Empty reports whether the filter matches all passages. It does not look at Where.
func (f Filter) Empty() bool {
	return len(f.TagsAll)+len(f.TagsAny)+len(f.Documents)+len(f.Must)+len(f.MustNot)+len(f.Hidden) == 0 &&
		f.Condition.Empty()
}

// Check returns a *fault.Error of kind Invalid if the filter exceeds a limit or has an empty tag, id or word; nil if it
// is valid.
func (f Filter) Check() error {
	var wrong fault.Problems
	CheckFilter(&wrong, f)
	return wrong.Err()
}

// CheckFilter adds a problem to w for each part of a filter that exceeds a limit or is empty.
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

// MaxWordings is the greatest number of words and phrases in each of Filter.Must and Filter.MustNot, and
// MaxWordingBytes the greatest length of one.
const (
	MaxWordings     = 64
	MaxWordingBytes = 512
)

// checkWordings adds a problem to w for too many words and phrases, and for each that has no letter or digit or is too
// long. pointer is the list's JSON pointer in the request.
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
				"empty_word", at, "%s has no letter or digit: no passage could be told by it; leave it out",
				wording.Quote(text),
			)
		case len(text) > MaxWordingBytes:
			w.Add(
				"word_too_long", at, "%s has %d bytes: at most %d are allowed", wording.Quote(text), len(text),
				MaxWordingBytes,
			)
		}
		if len(*w) > fault.MaxProblems {
			break
		}
	}
}

// MaxDocuments is the greatest number of documents in a filter.
const MaxDocuments = 64

// checkDocuments adds a problem to w for too many ids of documents, and for each that is empty or too long.
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

// checkTags adds a problem to w for too many tags, and for each that is empty or too long.
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
				"tag_too_long", at, "the tag %s has %d bytes: at most %d are allowed", wording.Quote(tag), len(tag),
				corpus.MaxTagBytes,
			)
		}
		if len(*w) > fault.MaxProblems {
			break
		}
	}
}

// Refusal returns the error for users if err is or wraps a *conditions.MisfitError: the values of a filter do not fit
// the collection's fields. It returns nil for other errors and for nil.
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

// MaxFilterTags is the greatest number of tags in each list of a filter, enough for the groups of an access list. The
// greatest length of a tag is corpus.MaxTagBytes.
const MaxFilterTags = 1 << 14

// LetsTags reports whether a passage with these tags matches TagsAll and TagsAny.
func (f Filter) LetsTags(tags []string) bool {
	has := func(tag string) bool { return slices.Contains(tags, tag) }
	lacks := func(tag string) bool { return !has(tag) }
	return !slices.ContainsFunc(f.TagsAll, lacks) && (len(f.TagsAny) == 0 || slices.ContainsFunc(f.TagsAny, has))
}
