package handlers

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestStagesAreAdministrators: what the stages of a search took tells whether somebody has
// asked the question before, so that keys without the scope admin are not told, however they
// ask.
func TestStagesAreAdministrators(t *testing.T) {
	open := start(t, Options{})
	s := start(t, Options{Keys: testKeys()})
	stage := regexp.MustCompile(`"(encode|head|search|confidence)":[0-9]|(encode|search|confidence)-`)
	const body = `{"question":"bees","fields":["sources"]}`
	for _, c := range []struct {
		name, method, path, body, accept string
	}{
		{"POST", "POST", "/v1/search", body, "application/json"},
		{"GET", "GET", "/v1/search?q=bees&fields=sources", "", "application/json"},
		{"events", "POST", "/v1/search", body, typeEvents},
		{"a batch", "POST", "/v1/search/batch", `{"searches":[` + body + `,` + body + `]}`, "application/json"},
	} {
		ask := func(s *server, key string) string {
			header := []string{"Accept", c.accept}
			if c.body != "" {
				header = append(header, "Content-Type", "application/json")
			}
			if key != "" {
				header = append(header, "X-API-Key", key)
			}
			text := ""
			if c.accept == typeEvents {
				text = s.raw(
					fmt.Sprintf(
						"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: %s\r\nX-API-Key: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
						c.accept,
						cmp.Or(key, "none"),
						len(c.body),
						c.body,
					),
					20*time.Second,
				)
			} else {
				r := s.send(c.method, c.path, c.body, header...)
				text = r.Header.Get("Server-Timing") + string(r.body)
			}
			if !strings.Contains(text, `"name":"wiki"`) {
				t.Fatalf("%s: %s", c.name, text)
			}
			return text
		}
		if got := ask(s, "read-secret"); stage.MatchString(got) || !strings.Contains(got, `"took_ms":{}`) {
			t.Errorf("%s, scope search: %s", c.name, got)
		}
		for name, got := range map[string]string{"scope admin": ask(s, "admin-secret"), "without keys": ask(open, "")} {
			if !stage.MatchString(got) {
				t.Errorf("%s, %s: %s", c.name, name, got)
			}
		}
	}
}
