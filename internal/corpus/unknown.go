package corpus

import "fmt"

// KnownFields are the fields of a passage.
const KnownFields = "id, title, text, tags and metadata"

// MaxUnknown bounds how many members EachUnknown tells of; objects that are keyed by
// something else than names have any number.
const MaxUnknown = 20

// EachUnknown returns an Input.Unknown that passes over all members and warns of each name
// once, where it is seen first. After MaxUnknown names, it says once that there are more.
func EachUnknown(warn func(text string)) func(Place, string) error {
	seen := map[string]bool{}
	return func(place Place, member string) error {
		switch {
		case seen[member] || len(seen) > MaxUnknown:
			return nil
		case len(seen) == MaxUnknown:
			warn(fmt.Sprintf("%s: and more fields that are not known", place))
		default:
			warn(
				fmt.Sprintf(
					"%s: the field %.60q is unknown and ignored, here and in all later lines; a passage has %s",
					place,
					member,
					KnownFields,
				),
			)
		}
		seen[member] = true
		return nil
	}
}
