package handlers

import (
	"reflect"
	"testing"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
)

// TestMetadataOf: keys are listed with what their values can be compared with; what documents need for
// themselves is not, nor what holds no single values.
func TestMetadataOf(t *testing.T) {
	got := metadataOf([]corpus.Passage{
		{Metadata: map[string]any{"price": 7., "day": "2024-05-01", "shelf": "A", "list": []any{"a"}, "sold": true}},
		{Metadata: map[string]any{"price": "8.5", "shelf": "12", corpus.DocumentKey: "d", corpus.MediaTypeKey: "text/plain"}},
		{},
	})
	want := []FieldInfo{
		{"day", []conditions.Type{conditions.Date}},
		{corpus.MediaTypeKey, []conditions.Type{conditions.Keyword}},
		{"price", []conditions.Type{conditions.Numeric}},
		{"shelf", []conditions.Type{conditions.Keyword, conditions.Numeric}},
		{"sold", []conditions.Type{conditions.Boolean}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
