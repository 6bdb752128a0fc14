package main

import (
	"errors"
	"fmt"

	"conclave/corpus"
)

const knownFields = "id, title, text, tags and metadata"

// unknownFields says which fields of the passages are not indexed, so that
// nobody believes that they are.
func unknownFields(strict bool, say func(format string, args ...any)) func(corpus.Place, string) error {
	if strict {
		return func(corpus.Place, string) error {
			return errors.New("is not known: a passage has " + knownFields + ". Put it into metadata, or leave out --strict to index without it")
		}
	}
	return corpus.EachUnknown(func(place corpus.Place, member string, more bool) {
		if more {
			say("conclave: warning: %s: and more fields that are not known", place)
			return
		}
		say("conclave: warning: %s: the field %s is unknown and ignored, here and in all later lines; a passage has %s", place, printable(fmt.Sprintf("%.60q", member)), knownFields)
	})
}
