package documents

import (
	"bytes"
	"errors"
)

// unpackAtOnce is how many bytes of files a worker unpacks for one request, about.
const unpackAtOnce = 64 << 20

// packed reports whether a file may be an archive or a mailbox that Expand unpacks, by its first bytes and, for a
// mailbox, its name.
func packed(data []byte, name string) bool {
	for _, sign := range [][]byte{[]byte("PK\x03\x04"), []byte("PK\x05\x06"), {0x1F, 0x8B}} {
		if bytes.HasPrefix(data, sign) {
			return true
		}
	}
	if len(data) > 262 && string(data[257:262]) == "ustar" {
		return true
	}
	return bytes.HasPrefix(data, []byte("From ")) && Detect(data, name, "") == Mailbox
}

// IsMail reports whether a file is a single mail, by its content, name and declared media type (Detect).
func IsMail(data []byte, name, declared string) bool {
	if packed(data, name) {
		return false
	}
	mediaType := Detect(data, name, declared)
	return mediaType == Mail || mediaType == Outlook
}

var errEnough = errors.New("documents: enough is unpacked")

// unpack returns an answer with the files of an archive after the first request.skip ones: about unpackAtOnce bytes
// of them, or a single larger file. answer.more says that further files follow, and answer.itself that the file is
// no archive. If the archive is damaged or beyond the limits, the answer has the files before that and refuses the
// rest.
func unpack(r *request) *answer {
	a := &answer{}
	seen, bytes := 0, 0
	err := Expand(r.file.Name, r.file.Data, r.limits, func(m Member) error {
		if m.Name == r.file.Name {
			a.itself = true
			return errEnough
		}
		if seen++; seen <= r.skip {
			return nil
		}
		if len(a.members) > 0 && bytes+len(m.Data) > unpackAtOnce {
			a.more = true
			return errEnough
		}
		bytes += len(m.Data)
		a.members = append(a.members, m)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		a.refused = refuse(err).refused
	}
	return a
}
