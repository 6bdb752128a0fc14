package documents

import (
	"bytes"
	"mime"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// decode returns a text as UTF-8. A mark of the byte order decides; then whether all of
// it is valid UTF-8, whatever is declared, since pages declare what they are not; then
// the declared encoding, where it decodes every byte; then what the bytes look like.
func decode(data []byte, declared string) (string, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		data = data[3:]
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return transform(data, unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM), "UTF-16")
	}
	if utf8.Valid(data) {
		return string(data), nil
	}
	if declared != "" {
		if e, name := charset.Lookup(declared); e != nil && name != "utf-8" && name != "replacement" {
			if text, err := transform(data, e, name); err == nil && !bytes.ContainsRune([]byte(text), utf8.RuneError) {
				return text, nil
			}
		}
	}
	if found := chardet.Detect(data[:min(len(data), 64<<10)]); found.Encoding != "" {
		if e, name := charset.Lookup(found.Encoding); e != nil && name != "utf-8" && name != "replacement" {
			return transform(data, e, name)
		}
	}
	e, name := charset.Lookup("windows-1252") // every byte is a character of it
	return transform(data, e, name)
}

func transform(data []byte, e encoding.Encoding, name string) (string, error) {
	text, err := e.NewDecoder().Bytes(data)
	if err != nil {
		return "", unreadable(Damaged, err, "it is not the %s that it seems to be", name)
	}
	return string(text), nil
}

// charsetOf returns the encoding that a media type names; "" where it names none.
func charsetOf(contentType string) string {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	return parameters["charset"]
}
