package store

import "testing"

func TestParseShare(t *testing.T) {
	for text, want := range map[string]Share{
		"1/1": {1, 1}, "2/4": {2, 4}, "256/256": {256, 256},
		"0/4": {}, "5/4": {}, "1/257": {}, "2": {}, "2/": {}, "/4": {}, "2/4/8": {}, "2/4x": {}, " 2/4": {}, "02/4": {}, "-1/4": {}, "": {},
	} {
		got, err := ParseShare(text)
		if got != want || (err != nil) != (want == Share{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
