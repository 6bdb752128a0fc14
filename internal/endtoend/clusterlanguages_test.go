package endtoend

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// storeLanguages: passages that are written to a store in several languages, over HTTP or by index, say in which they
// are.
func storeLanguages(t *testing.T, s *site, store string) {
	t.Helper()
	german := "Der Wächter des Leuchtturms versteckte die Lampe unter seinem Mantel, als der Sturm vom Meer herüberkam."
	english := "The keeper of the lighthouse hid the lamp under his coat when the storm came over from the sea."
	served := s.serve("", "--store", store)
	put := func(id, text string) {
		t.Helper()
		body := fmt.Sprintf(`{"text":%q}`, text)
		served.get(http.MethodPut, "/v1/passages/"+id+"?refresh=wait", body, http.StatusCreated, nil)
	}
	put("l1", english)
	put("l2", german) // the collection is in English alone so far
	put("l3", german)
	served.stop()
	more := fmt.Appendf(nil, `{"id":"l4","text":%q}`+"\n", german)
	if err := os.WriteFile(filepath.Join(s.dir, "more.jsonl"), more, 0o600); err != nil {
		t.Fatal(err)
	}
	s.command("index", "--store", store, "--in", "more.jsonl")
	for line := range strings.Lines(s.command("export", "--store", store)) {
		for id, want := range map[string]bool{"l1": false, "l2": false, "l3": true, "l4": true} {
			if strings.HasPrefix(line, `{"id":"`+id+`"`) && strings.Contains(line, `"lang":"de"`) != want {
				t.Errorf("it says in which language it is: %t, want %t: %s", !want, want, line)
			}
		}
	}
}
