package store

import (
	"fmt"
	"strconv"
)

// Share is what one of several processes indexes of a source that all of them read: the passages whose
// ids fall to it. The zero value is everything.
type Share struct {
	At int // 1 to Of
	Of int // 0: everything
}

// mostShares bounds how many processes fill an index.
const mostShares = 256

// ParseShare reads a share such as "2/4", the second of four. It returns the zero Share and an error for any other
// form, also with spaces, signs or leading zeros, and for more than mostShares.
func ParseShare(text string) (s Share, err error) {
	var rest string
	n, err := fmt.Sscanf(text+" ", "%d/%d%s", &s.At, &s.Of, &rest)
	if n != 2 || err == nil || rest != "" || s.At < 1 || s.At > s.Of || s.Of > mostShares || text != s.String() {
		return Share{}, fmt.Errorf("%q is no share: it has the form 2/4, the second of four, of at most %d", text, mostShares)
	}
	return s, nil
}

// String returns the share as ParseShare reads it, such as 2/4.
func (s Share) String() string { return strconv.Itoa(s.At) + "/" + strconv.Itoa(s.Of) }
