package shipped

import (
	"slices"
	"strings"
	"testing"
)

func TestChosenExperts(t *testing.T) {
	for list, want := range map[string]string{
		"":             "base late",
		"default":      "base late",
		"none":         "",
		"all":          "base amazon covid desire-me fairytale late medquad nq policy wiki",
		"default,mine": "base late mine",
		"base,late":    "base late",
		"wiki,all":     "wiki base amazon covid desire-me fairytale late medquad nq policy",
	} {
		if got, err := Chosen(list); err != nil || strings.Join(got, " ") != want {
			t.Errorf("--experts %q: %v, %v; want %s", list, got, err, want)
		}
	}
	for _, list := range []string{"none,base", "base,", ",", "base,none"} {
		if got, err := Chosen(list); err == nil || !strings.Contains(err.Error(), list) {
			t.Errorf("--experts %q: %v, %v", list, got, err)
		}
	}
}

// TestDemoIsTheDefault: what a newcomer sees in the demo is what they get at home.
func TestDemoIsTheDefault(t *testing.T) {
	deltas, err := (&Setup{Usual: true}).deltasToImport()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{Base}
	for _, d := range deltas {
		if d.Manifest.Name != Reader {
			names = append(names, d.Manifest.Name)
		}
	}
	if !slices.Equal(names, Default()) {
		t.Errorf("the demo has %v, the default is %v", names, Default())
	}
}
