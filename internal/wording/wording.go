// Package wording puts what somebody sent into messages: values quoted and cut to a length
// that can be read, lists of names, and the places of values in JSON.
package wording

import (
	"fmt"
	"strconv"
	"strings"
)

// NameLetters are the characters of ids and names that have to be usable in addresses, logs and file names.
const NameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

const (
	longest = 128 // bytes of a text that is shown whole
	shown   = 64  // bytes of a longer one
	names   = 20  // names of a list that are shown
)

// Shorten returns a text as a message shows it: whole up to 128 bytes, else its first 64, without half a character,
// and an ellipsis.
func Shorten(s string) string {
	head, rest := beginning(s)
	return head + rest
}

// Quote returns a text in quotes, with control characters visible, as Go writes it. Of one with more than 128 bytes
// it returns the first 64, with an ellipsis behind the quotes.
func Quote(s string) string {
	head, rest := beginning(s)
	return strconv.Quote(head) + rest
}

// beginning returns the part of a text that messages show, and "…" if there is more, else "".
func beginning(s string) (head, rest string) {
	if len(s) <= longest {
		return s, ""
	}
	return strings.ToValidUTF8(s[:shown], ""), "…"
}

// List joins names with commas: a, b, c. Of more than 20 it lists the first 20 and says how many more there are; ""
// for none.
func List[T ~string](all []T) string {
	more := ""
	if len(all) > names {
		more = fmt.Sprintf(" and %d more", len(all)-names)
		all = all[:names]
	}
	texts := make([]string, len(all))
	for i, name := range all {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ") + more
}

// Pointer returns the JSON pointer (RFC 6901) of a member of an object by its name, which it escapes, or of an item
// of a list by its index, below another pointer; "" is the pointer of the whole.
func Pointer[T string | int](below string, step T) string {
	switch step := any(step).(type) {
	case int:
		return below + "/" + strconv.Itoa(step)
	case string:
		return below + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
	}
	return below
}
