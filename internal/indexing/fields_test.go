package indexing

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
)

// TestFieldsAreFound: the types of fields are those of most of their values, or the declared ones, the values that
// are none of the type are counted with the first of them, and a passage that does not fit a declared type is a bad
// one, by its place.
func TestFieldsAreFound(t *testing.T) {
	const lines = `{"id":"a","text":"x","metadata":{"price":12,"on":"2024-05-01","zip":"07","sold":true}}
{"id":"b","text":"x","metadata":{"price":"7.5","on":"2024-05-02","zip":"99"}}
{"id":"c","text":"x","metadata":{"price":"n/a","on":"May","zip":7}}
{"id":"d","text":"x","metadata":{"price":1,"on":"2024-05-03T10:00:00Z"}}
`
	read := func(types conditions.Types) (*fieldTypes, []string, []error) {
		source, err := corpus.OpenSeries([]corpus.Input{{Path: "-", Stdin: strings.NewReader(lines)}})
		if err != nil {
			t.Fatal(err)
		}
		stream := &fieldTypes{Stream: source, types: types, found: map[string]*fieldValues{}}
		var ids []string
		var wrong []error
		for {
			p, err := stream.Next()
			if err == io.EOF {
				return stream, ids, wrong
			}
			if err != nil {
				wrong = append(wrong, err)
				continue
			}
			ids = append(ids, p.ID)
		}
	}
	stream, ids, wrong := read(nil)
	if len(ids) != 4 || wrong != nil {
		t.Errorf("%v, %v", ids, wrong)
	}
	want := map[string]FieldFound{
		"price": {Type: "number", Passages: 4, Others: 1, Example: "n/a", Passage: "c"},
		"on":    {Type: "date", Passages: 4, Others: 1, Example: "May", Passage: "c"},
		"zip":   {Type: "number", Passages: 3, Others: 1, Example: "07", Passage: "a"},
		"sold":  {Type: "bool", Passages: 1},
	}
	if got := stream.fieldsFound(); !reflect.DeepEqual(got, want) {
		text, _ := json.Marshal(got)
		t.Errorf("%s", text)
	}
	_, ids, wrong = read(conditions.Types{"price": conditions.Numeric})
	var bad *corpus.ReadError
	if len(ids) != 3 || len(wrong) != 1 || !errors.As(wrong[0], &bad) || !bad.Recoverable || bad.Place.Line != 3 ||
		!strings.Contains(wrong[0].Error(), `field "metadata.price" ("n/a") does not fit the field, which is declared as number`) {
		t.Errorf("%v, %v", ids, wrong)
	}
}
