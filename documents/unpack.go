package documents

import (
	"bytes"
	"errors"
)

// unpackAtOnce is how many bytes of files a worker unpacks for one request, about.
const unpackAtOnce = 64 << 20

// packed reports whether Expand may find an archive or a mailbox in a file, mostly by its first bytes.
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

// unpack returns the files of an archive from request.skip on, about unpackAtOnce bytes of them or one larger file;
// more says that others follow. After an error the answer has the files before it. itself says that it is no archive.
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
