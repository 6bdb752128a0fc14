package conditions

import (
	"encoding/json"
	"strings"

	"example.org/conclave/internal/corpus"
)

// Datum is one value of a field as one kind: a word has Text, any other kind has Key, which is ordered as the values
// are.
type Datum struct {
	Field string
	Kind  Kind
	Key   uint64
	Text  string
}

// kept are keys of documents' own metadata that conditions cannot compare: places in texts, and hashes. They would take
// as much room in an index as all others.
var kept = map[string]bool{
	corpus.BeginKey: true, corpus.EndKey: true, corpus.BeginCodePointsKey: true, corpus.BeginUTF16Key: true,
	corpus.TextBeforeKey: true, corpus.TextAfterKey: true, corpus.DocumentSHA256Key: true,
	corpus.DocumentRevisionKey: true, corpus.DocumentRootKey: true, corpus.DocumentOriginalKey: true,
}

// Each calls yield with every value of metadata that conditions can compare, in any order. A value that counts as
// several kinds, such as a text that is a date, is passed once for each. It leaves out lists, objects and null,
// fields with too long names or a NUL in them, and of documents the places in texts and hashes.
func Each(metadata map[string]any, yield func(Datum)) {
	_, document := metadata[corpus.DocumentKey]
	for key, value := range metadata {
		if document && kept[key] || len(key) > MaxFieldBytes || strings.Contains(key, "\x00") {
			continue
		}
		v, ok := ValueOf(value)
		if !ok {
			continue
		}
		switch scalar := v.data.(type) {
		case string:
			eachText(key, scalar, yield)
		case float64:
			yield(Datum{Field: key, Kind: Numbers, Key: NumberKey(scalar)})
		case bool:
			yield(Datum{Field: key, Kind: Bools, Key: BoolKey(scalar)})
		}
	}
}

// eachText calls yield with the text of a field once for each kind as which it can be compared: as a word, and also as
// a date, a number or a boolean if it is one. A text of more than MaxWordBytes is yielded once, with kind Long and
// without its content.
func eachText(field, text string, yield func(Datum)) {
	if len(text) > MaxWordBytes {
		yield(Datum{Field: field, Kind: Long})
		return
	}
	yield(Datum{Field: field, Kind: Words, Text: text})
	if from, _, ok := ParseDate(text); ok {
		yield(Datum{Field: field, Kind: Dates, Key: DateKey(from)})
	}
	if x, ok := ParseNumber(text); ok {
		yield(Datum{Field: field, Kind: Numbers, Key: NumberKey(x)})
	}
	if text == "true" || text == "false" {
		yield(Datum{Field: field, Kind: Bools, Key: BoolKey(text == "true")})
	}
}

// Decode decodes stored metadata from JSON, numbers as float64; nil for empty data. The error is that of
// encoding/json.
func Decode(stored []byte) (map[string]any, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	var out map[string]any
	err := json.Unmarshal(stored, &out)
	return out, err
}
