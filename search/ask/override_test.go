package ask

import (
	"strings"
	"testing"
)

// TestOverride: which entries are refused.
func TestOverride(t *testing.T) {
	ids := []string{"a"}
	for wrong, o := range map[string]Override{
		"needs questions":    {Pin: ids},
		"needs ids":          {Questions: ids},
		"without a letter":   {Questions: []string{"?!"}, Pin: ids},
		"more than 1000":     {Contains: []string{strings.Repeat("a", 1001)}, Hide: ids},
		"empty id":           {Questions: ids, Pin: []string{" "}},
		"at most 50":         {Questions: ids, Pin: make([]string, 51)},
		"at most 100":        {Questions: make([]string, 101), Pin: ids},
		"more than 1024 byt": {Questions: ids, Hide: []string{strings.Repeat("a", 1025)}},
	} {
		if got := o.Check(); !strings.Contains(got, wrong) {
			t.Errorf("%+v: %q, want %q", o, got, wrong)
		}
	}
	o := Override{Questions: []string{"When?"}, Contains: []string{"旅費"}, Pin: ids, Hide: ids}
	if got := o.Check(); got != "" {
		t.Error(got)
	}
}
