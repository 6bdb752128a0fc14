package corpus

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/internal/wording"
)

// CheckID returns a *FieldError if a new passage or document cannot have this id. It refuses what checkID does,
// invisible characters (IsUnseen), and . or .. alone between slashes: many clients remove these from an address before
// they send it, and so would read or change another passage.
func CheckID(id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	if at := strings.IndexFunc(id, IsUnseen); at >= 0 {
		r, _ := utf8.DecodeRuneInString(id[at:])
		return &FieldError{
			Field: "id",
			Value: wording.Quote(id),
			Problem: fmt.Sprintf(
				"has the character U+%04X at byte %d, which nobody sees or which changes the direction of writing: "+
					"two ids would look the same; leave it out", r, at+1),
		}
	}
	steps := func(part string) bool { return part == "." || part == ".." }
	if slices.ContainsFunc(strings.Split(id, "/"), steps) {
		return &FieldError{
			Field: "id",
			Value: wording.Quote(id),
			Problem: "has a step in a path, . or .. between slashes: clients take it out of an address, " +
				"and ask for another passage; give it another id",
		}
	}
	return nil
}

// IsUnseen reports whether a character is invisible or changes how others are shown: control and format characters,
// such as zero-width spaces and marks of the writing direction, line separators, and fillers. Variation selectors do
// not count: they change the character before them.
func IsUnseen(r rune) bool {
	return unicode.IsControl(r) ||
		unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

// checkID returns a *FieldError if no passage can have this id, an old one included: it is empty, too long, not UTF-8,
// has a control character, or white space at an end.
func checkID(id string) error {
	const field = "id"
	switch {
	case id == "":
		return &FieldError{Field: field, Problem: "is missing or empty: every passage needs an id of its own"}
	case len(id) > MaxIDBytes:
		return &FieldError{
			Field:   field,
			Value:   wording.Quote(id),
			Problem: fmt.Sprintf("has %d bytes, %d are allowed", len(id), MaxIDBytes),
		}
	case !utf8.ValidString(id):
		return notUTF8(field, id)
	case strings.IndexFunc(id, unicode.IsControl) >= 0:
		return &FieldError{Field: field, Value: wording.Quote(id), Problem: "has a control character"}
	case strings.TrimSpace(id) != id:
		return &FieldError{Field: field, Value: wording.Quote(id), Problem: "begins or ends with white space"}
	}
	return nil
}
