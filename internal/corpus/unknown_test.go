package corpus

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
)

// TestUnknownMembers: a caller hears of every member that says nothing about a
// passage, with its line, and may refuse it.
func TestUnknownMembers(t *testing.T) {
	path := write(t, "p.jsonl", []byte(`{"_id":"1","title":"a","text":"b","tags":["c"],"metadata":{"url":"d"}}
{"id":"2","url":"x","text":"b","Title":"a"}

{"id":"3","contents":"b","url":{"text":"c"}}
{"id":"4","date":"x"}
{"id":"5","text":"b","":1}
`))
	var told []string
	refuse := "nothing"
	read := func() (ids []string, bad []error) {
		told = nil
		r, err := Open(Input{Path: path, Unknown: func(place Place, member string) error {
			told = append(told, fmt.Sprintf("%d %s", place.Line, member))
			if place.File != path {
				t.Errorf("told of the file %q", place.File)
			}
			if member == refuse {
				return errors.New("is refused")
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		for {
			p, err := r.Next()
			if err == io.EOF {
				return ids, bad
			}
			if err != nil {
				bad = append(bad, err)
				continue
			}
			ids = append(ids, p.ID)
		}
	}
	ids, bad := read()
	// Record 4 has no text: its error says what it has.
	if want := []string{"2 url", "2 Title", "4 url", "6 "}; !slices.Equal(told, want) ||
		!slices.Equal(ids, []string{"1", "2", "3", "5"}) ||
		len(bad) != 1 {
		t.Errorf("told of %q, want %q; passages %v, bad %v", told, want, ids, bad)
	}
	refuse = "url"
	ids, bad = read()
	if !slices.Equal(ids, []string{"1", "5"}) || len(bad) != 3 {
		t.Fatalf("passages %v, bad %v", ids, bad)
	}
	var wrong *ReadError
	var field *FieldError
	if !errors.As(bad[0], &wrong) || !errors.As(bad[0], &field) || !wrong.Recoverable || wrong.Place != (Place{path, 2}) ||
		field.Field != "url" {
		t.Errorf("%#v", bad[0])
	}
}
