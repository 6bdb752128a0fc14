package experts

import (
	"testing"
)

// TestGranularNames: the name of an expert says its bundle and its granularity.
func TestGranularNames(t *testing.T) {
	for granularity, want := range map[string]string{"passage": "x", "3": "x@3", "125t": "x@125t", "3-untitled": "x@3-untitled", "passage-untitled": "x@passage-untitled"} {
		name, err := GranularName("x", granularity)
		if err != nil || name != want {
			t.Errorf("%s: %q, %v", granularity, name, err)
		}
		bundle, g, err := SplitName(name)
		if err != nil || bundle != "x" || (g == nil) != (name == "x") || g != nil && g.String() != granularity {
			t.Errorf("%s: %q, %v, %v", name, bundle, g, err)
		}
	}
	for _, bad := range []string{"", "0", "many"} {
		if _, err := GranularName("x", bad); err == nil {
			t.Errorf("granularity %q is accepted", bad)
		}
		if _, _, err := SplitName("x@" + bad); err == nil {
			t.Errorf("the name x@%s is accepted", bad)
		}
	}
}
