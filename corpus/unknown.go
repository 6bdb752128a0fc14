package corpus

// MaxUnknown bounds how many members EachUnknown tells of; objects that are keyed by
// something else than names have any number.
const MaxUnknown = 20

// EachUnknown is an Input.Unknown that passes over all members and tells of each name
// once, where it is seen first. After MaxUnknown names, more is told once.
func EachUnknown(tell func(place Place, member string, more bool)) func(Place, string) error {
	seen := map[string]bool{}
	return func(place Place, member string) error {
		if !seen[member] && len(seen) <= MaxUnknown {
			seen[member] = true
			tell(place, member, len(seen) > MaxUnknown)
		}
		return nil
	}
}
