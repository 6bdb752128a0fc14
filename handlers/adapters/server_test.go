package adapters_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"
)

// site is a server of the collection "c", which is what realclients calls it.
type site struct {
	t   testing.TB
	url string
	key string // sent along; "": none
	log *testenv.Buffer
}

func serve(t testing.TB, o realclients.ServerOptions) *site {
	t.Helper()
	o.Log = &testenv.Buffer{}
	return &site{t: t, url: realclients.Server(t, o), log: o.Log}
}

// send sends a body as JSON, or asks without one where it is nil, and reads the answer.
func (s *site) send(method, path string, body any) (status int, answer []byte) {
	s.t.Helper()
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		in = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, in)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.key != "" {
		request.Header.Set("Authorization", "Bearer "+s.key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err = io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, answer
}

// ask sends what has to be answered well.
func (s *site) ask(method, path string, body, into any) {
	s.t.Helper()
	status, answer := s.send(method, path, body)
	if err := json.Unmarshal(answer, into); err != nil || status != http.StatusOK {
		s.t.Fatalf("%s %s: %d, %v: %.500s", method, path, status, err, answer)
	}
}

// search returns the API's own search.
func (s *site) search(r search.Request) (out reply.Response) {
	s.t.Helper()
	s.ask(http.MethodPost, "/v1/search", r, &out)
	return out
}

// object is a JSON object.
type object = map[string]any

// keyed gives a server two keys: one for each scope, whose text is the scope's name.
func keyed(c *configs.Config) {
	for _, scope := range []string{"search", "embed"} {
		sum := sha256.Sum256([]byte(scope))
		c.Auth.Keys = append(
			c.Auth.Keys, configs.Key{Name: scope, SHA256: hex.EncodeToString(sum[:]), Scopes: []string{scope}},
		)
	}
}
