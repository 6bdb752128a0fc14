package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/conclave/internal/plaintext"
	"example.org/conclave/internal/wording"

	"github.com/go-json-experiment/json/jsontext"
)

// eachMember calls visit for every member of a JSON object in order, and returns its first error. It returns a
// *FieldError if object is not one valid object with distinct keys in UTF-8; field is its name in that error ("" for
// the whole record). encoding/json would keep the last of two equal keys, ignore case, and replace bytes that are not
// UTF-8.
func eachMember(field string, object []byte, visit func(key string, value jsontext.Value) error) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(object))
	begin, err := d.ReadToken()
	if err != nil {
		return notJSON(object, err)
	}
	if begin.Kind() != jsontext.KindBeginObject {
		return &FieldError{
			Field:   field,
			Value:   wording.Quote(string(bytes.TrimSpace(object))),
			Problem: "is not a JSON object",
		}
	}
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := d.ReadToken()
		if err != nil {
			return notJSON(object, err)
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return notJSON(object, err)
		}
		if err := visit(key, value); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return notJSON(object, err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return &FieldError{
			Field:   field,
			Value:   wording.Quote(string(object)),
			Problem: "is not valid JSON: more follows behind the object",
		}
	}
	return nil
}

// notJSON returns the *FieldError for a decoder's error in a record: what is wrong, with the text around it.
func notJSON(record []byte, err error) error {
	var wrong *jsontext.SyntacticError
	if !errors.As(err, &wrong) {
		return &FieldError{Value: wording.Quote(string(record)), Problem: fmt.Sprintf("is not valid JSON: %v", err)}
	}
	if errors.Is(wrong.Err, jsontext.ErrDuplicateName) {
		return &FieldError{
			Field:   wording.Shorten(strings.Join(slices.Collect(wrong.JSONPointer.Tokens()), ".")),
			Problem: "is given twice",
		}
	}
	at := int(wrong.ByteOffset)
	field := &FieldError{
		Value:   wording.Quote(excerptAround(string(record), at)),
		Problem: fmt.Sprintf("is not valid JSON: %v (byte %d of the line)", wrong.Err, at+1),
	}
	if !utf8.Valid(record) {
		field.Encoding = plaintext.Wrong(record)
	}
	return field
}

// KnownFields are the fields of a passage.
const KnownFields = "id, title, text, tags and metadata"

// MaxUnknown is the greatest number of unknown members that EachUnknown warns of. Objects whose keys are not names of
// fields have any number of them.
const MaxUnknown = 20

// EachUnknown returns a function for Input.Unknown that accepts every unknown member and calls warn with each name
// once, where it occurs first. After MaxUnknown names it warns once that there are more. The function always
// returns nil, and is not safe for concurrent use.
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
					"%s: the field %.60q is unknown and ignored, here and in all later lines; a passage has %s", place,
					member, KnownFields,
				),
			)
		}
		seen[member] = true
		return nil
	}
}
