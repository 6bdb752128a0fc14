package main

import (
	"errors"
	"fmt"

	"conclave/corpus"
)

// unknownFields says which fields of the passages are not indexed, so that
// nobody believes that they are: each name once, where it is seen first.
type unknownFields struct {
	strict bool
	say    func(format string, args ...any)
	seen   map[string]bool
}

// maxUnknown bounds how many names are reported; objects that are keyed by
// something else than names have any number.
const maxUnknown = 20

const knownFields = "id, title, text, tags and metadata"

func (u *unknownFields) found(place corpus.Place, member string) error {
	if u.strict {
		return errors.New("is not known: a passage has " + knownFields + ". Put it into metadata, or leave out --strict to index without it")
	}
	if u.seen[member] || len(u.seen) > maxUnknown {
		return nil
	}
	if u.seen == nil {
		u.seen = map[string]bool{}
	}
	u.seen[member] = true
	if len(u.seen) > maxUnknown {
		u.say("conclave: warning: %s: and more fields that are not known", place)
		return nil
	}
	u.say("conclave: warning: %s: the field %s is unknown and ignored, here and in all later lines; a passage has %s", place, printable(fmt.Sprintf("%.60q", member)), knownFields)
	return nil
}
