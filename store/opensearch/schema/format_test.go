package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestOtherFormats: a manifest or a plan of another format is refused as such, whatever else it says.
func TestOtherFormats(t *testing.T) {
	for _, format := range []int{0, 1, 2, 4} {
		for _, kind := range []string{"manifest", "plan"} {
			text := fmt.Sprintf(`{"%s":{"format":%d,"id":"x","another":[1]}}`, kind, format)
			_, err := ParseMeta([]byte(text))
			var other *FormatError
			if !errors.As(err, &other) || other.Found != format || other.Reads != 3 {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	for text, want := range map[string]string{
		`{}`: "no manifest", `[]`: "cannot unmarshal", `{"manifest":{"format":3,"another":1}}`: `unknown field "another"`,
	} {
		if _, err := ParseMeta([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if about, err := ParseMeta([]byte(`{"manifest":{"format":3,"id":"x"}}`)); err != nil || about.Manifest.ID != "x" {
		t.Errorf("%+v, %v", about, err)
	}
}
