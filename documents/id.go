package documents

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"example.org/conclave/internal/corpus"
)

// mostIDBytes bounds the id of a document, so that the ids of its passages, which end in # and a number, are
// allowed.
const mostIDBytes = corpus.MaxIDBytes - 12

// DocumentID returns the id of the document for a file's path. It is the path itself, changed where ids are restricted:
//
//   - Invalid UTF-8, invisible characters, those that change the direction of writing, and blanks at both ends are
//     written as % and two hexadecimal digits for each byte.
//   - So is the last dot of a part that is "." or "..", since clients remove these from addresses.
//   - A path that is too long is cut and ends in ~ and the beginning of its SHA-256.
//
// The same path always has the same id. Two paths have different ids, unless a file's name contains such a % itself.
func DocumentID(path string) string {
	var id strings.Builder
	trimmed := strings.TrimSpace(path)
	begin := strings.Index(path, trimmed)
	end := begin + len(trimmed)
	for at := 0; at < len(path); {
		r, n := utf8.DecodeRuneInString(path[at:])
		valid := r != utf8.RuneError || n > 1
		if valid && at >= begin && at < end && !corpus.IsUnseen(r) {
			id.WriteString(path[at : at+n])
		} else {
			for _, b := range []byte(path[at : at+n]) {
				_, _ = fmt.Fprintf(&id, "%%%02X", b)
			}
		}
		at += n
	}
	parts := strings.Split(id.String(), "/")
	for i, part := range parts {
		if part == "." || part == ".." {
			parts[i] = part[1:] + "%2E"
		}
	}
	whole := strings.Join(parts, "/")
	if len(whole) <= mostIDBytes {
		return whole
	}
	sum := sha256.Sum256([]byte(path))
	mark := "~" + hex.EncodeToString(sum[:8])
	cut := whole[:mostIDBytes-len(mark)]
	for !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	return strings.TrimRight(cut, " ") + mark
}
