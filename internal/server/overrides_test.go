package server

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/handlers"
	"example.org/conclave/search/reply"
)

// TestOverridesServed: what an administrator puts holds for the next search and search over several
// collections, in each for the ids of its own collection, and is gone after the next PUT.
func TestOverridesServed(t *testing.T) {
	s := several(t).serve()
	defer s.end()
	for _, name := range []string{"a", "b"} {
		s.create(fmt.Sprintf(`{"name":%q,"experts":["one"]}`, name))
		for _, id := range []string{"p", "q", "r"} {
			s.add(name, id, "Rice is cooked in "+name+" "+id+".")
		}
		s.add(name, "far", "Nothing of this.")
	}
	ids := func(results []reply.Result) (out []string) {
		for _, r := range results {
			text := r.Collection + "/" + r.ID
			if r.Pinned {
				text = "!" + text
			}
			out = append(out, text)
		}
		return out
	}
	const request = `"experts":[],"fusion":"rrf","collapse":false,"question":"How is rice cooked?"`
	settings := "/v1/collections/a/admin/settings"
	var now handlers.SettingsAnswer
	s.call(http.MethodPut, settings,
		`{"overrides":[{"questions":["how is RICE cooked"],"pin":["far","r","nowhere"],"hide":["p"]}]}`, http.StatusOK, &now)
	if len(now.Overrides) != 1 || now.Overrides[0].Pin[0] != "far" {
		t.Errorf("%+v", now)
	}
	var one reply.Response
	s.call(http.MethodPost, "/v1/collections/a/search", "{"+request+`,"explain":true}`, http.StatusOK, &one)
	if got := ids(one.Results); !slices.Equal(got, []string{"!/far", "!/r", "/q"}) {
		t.Errorf("%q", got)
	}
	if o := one.Overridden; o == nil || !slices.Equal(o.Pinned, []string{"far", "r"}) || !slices.Equal(o.Hidden, []string{"p"}) {
		t.Errorf("%+v", o)
	}
	var both reply.Response
	s.call(http.MethodPost, "/v1/search", "{"+request+`,"collections":["b","a"]}`, http.StatusOK, &both)
	got := ids(both.Results)
	if !slices.Equal(got[:2], []string{"!a/far", "!a/r"}) || slices.Contains(got, "a/p") || !slices.Contains(got, "b/p") ||
		len(got) != 6 {
		t.Errorf("%q", got)
	}
	for wrong, want := range map[string]string{
		`{"overrides":[{"pin":["a"]}]}`:                            "entry 1: an entry needs questions",
		`{"overrides":[{"questions":["a"]}]}`:                      "needs ids",
		`{"overrides":[{"questions":["a"],"pin":["a"],"by":"b"}]}`: "",
	} {
		status, body := s.raw(http.MethodPut, settings, wrong)
		if status < 400 || status >= 500 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", wrong, status, body)
		}
	}
	var after reply.Response
	s.call(http.MethodPut, settings, `{}`, http.StatusOK, nil)
	s.call(http.MethodPost, "/v1/collections/a/search", "{"+request+"}", http.StatusOK, &after)
	if got := ids(after.Results); len(got) != 3 || !slices.Contains(got, "/p") || strings.Contains(fmt.Sprint(got), "!") {
		t.Errorf("%q", got)
	}
}

// raw sends a JSON body and returns the status and text of the answer.
func (s *served) raw(method, path, body string) (status int, text string) {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(read)
}
