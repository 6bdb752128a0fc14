package unigram

import (
	"encoding/json"
	"math"
	"testing"
)

// TestPairs: a pair of a vocabulary is read as encoding/json reads it as a list, whichever way it is written.
func TestPairs(t *testing.T) {
	for _, text := range []string{
		`["▁the",-3.5]`, `["a", -3.5 ]`, ` [ "a" , 1e-3 ] `, `["",0]`, `["a\"b",-1]`, `["\u00e9\\",-1]`, `["a]",-1]`,
		`["a,b",-2]`, `["a",-1,2]`, `["a"]`, `["a",null]`, `[null,-1]`, `["a","b"]`, `["a",true]`, `["a",1e999]`, `[]`,
		`{}`, `"a"`, `null`, "[\"\xff\",-1]", `["a",[1]]`, `["a",-0]`, `["a",12345678901234567890]`,
	} {
		var list [2]json.RawMessage
		var want piece
		err := json.Unmarshal([]byte(text), &list)
		if err == nil {
			err = json.Unmarshal(list[0], &want.text)
		}
		if err == nil {
			err = json.Unmarshal(list[1], &want.score)
		}
		var got piece
		gotErr := json.Unmarshal([]byte(text), &got)
		if (gotErr == nil) != (err == nil) ||
			err == nil && (got.text != want.text || math.Float64bits(got.score) != math.Float64bits(want.score)) {
			t.Errorf("%s is %q %v, %v; as a list %q %v, %v", text, got.text, got.score, gotErr, want.text, want.score, err)
		}
	}
}
