package handlers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/overload"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/lookup"
)

// echoing answers with its body and what a search of it finds, and has errors of its
// own shape, with status 418.
func echoing(scope schema.Scope) Adapter {
	return Adapter{Method: http.MethodPost, Path: "/others/{name}/search", Scope: scope, Cost: front.Searching(0),
		Serve: func(r *http.Request, e AdmittedEngine) (answer Answer, err error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return answer, err
			}
			switch string(body) {
			case `"panic"`:
				panic("as asked")
			case `"odd"`:
				return answer, &fault.Error{Kind: fault.Invalid, Code: "invalid_message", Detail: "as asked"}
			}
			found, err := e.Search(
				r.Context(), search.Caller{},
				search.Request{Question: strings.Trim(string(body), `"`), K: 1, Experts: &[]string{}},
			)
			if err != nil {
				return answer, err
			}
			return Answer{Value: []string{r.PathValue("name"), string(body), found.Results[0].ID}}, nil
		},
		Refusal: func(p *schema.Problem) (int, any) { return http.StatusTeapot, []string{p.Code} },
	}
}

// TestAdapters: an adapter is served behind the same checks as the API, and whatever
// goes wrong is written in its own shape.
func TestAdapters(t *testing.T) {
	control, err := overload.New(2, 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s := start(
		t,
		Options{
			Keys:         testKeys(),
			Adapters:     []Adapter{echoing(schema.ScopeSearch)},
			Admission:    control,
			BodyBytes:    100 << 10,
			RateRequests: 20,
		},
	)
	ask := func(method, body string, headers ...string) (int, string) {
		t.Helper()
		request, err := http.NewRequest(method, "http://"+s.address+"/others/some%20one/search", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		status := response.StatusCode
		got := strings.TrimSpace(string(answer))
		if code, ok := strings.CutPrefix(got, "["); ok && status == http.StatusTeapot {
			provoked([]byte(`"code":` + code)) // in the shape in which others' codes come
		}
		return status, got
	}
	const key, may, mayNot = "Authorization", "Bearer read-secret", "Bearer embed-secret"
	if status, got := ask("POST", `"bees hive"`, key, may); status != 200 || got != `["some one","\"bees hive\"","bees"]` {
		t.Fatalf("%d %s", status, got)
	}
	for code, headers := range map[string][]string{
		"unauthorized":           {},
		"insufficient_scope":     {key, mayNot},
		"unsupported_media_type": {key, may, "Content-Type", "text/plain"},
		"not_acceptable":         {key, may, "Accept", "image/png"},
		"foreign_origin":         {key, may, "Origin", "https://elsewhere.example"},
	} {
		if status, got := ask("POST", `"bees"`, headers...); status != http.StatusTeapot || got != `["`+code+`"]` {
			t.Errorf("%s: %d %s", code, status, got)
		}
	}
	for code, body := range map[string]string{"body_too_large": strings.Repeat("x", 100<<10+1), "internal": `"panic"`, "empty_question": " ", "invalid_message": `"odd"`, "too_many_values": "[" + strings.Repeat("1,", 1<<15) + "1]"} {
		if status, got := ask("POST", body, key, may); status != http.StatusTeapot || got != `["`+code+`"]` {
			t.Errorf("%s: %d %s", code, status, got)
		}
	}
	if status, got := ask("PUT", `"bees"`, key, may); status != http.StatusTeapot || got != `["method_not_allowed"]` {
		t.Errorf("PUT: %d %s", status, got)
	}
	place, err := control.Hold(2)
	if err != nil {
		t.Fatal(err)
	}
	if status, got := ask("POST", `"bees"`, key, may); status != http.StatusTeapot || got != `["too_many_requests"]` {
		t.Errorf("with no room: %d %s", status, got)
	}
	place.Leave()
	for n := range 20 {
		status, got := ask("POST", `"bees"`, key, may)
		if status == http.StatusTeapot && got == `["rate_limited"]` {
			return
		}
		if status != 200 {
			t.Errorf("request %d with room again: %d %s", n, status, got)
		}
	}
	t.Error("no request was one too many")
}

// TestAdmitting: what an adapter asks of the engine is refused where there is no room,
// and gives back what it took when it is answered.
func TestAdmitting(t *testing.T) {
	control, err := overload.New(4, 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	api := newAPI(t, Options{Engine: testEngine(t, engineOptions{}), Admission: control, AnswerMemory: 8 << 20})
	asks := map[string]func(e AdmittedEngine) error{
		"search": func(e AdmittedEngine) error {
			_, err := e.Search(t.Context(), search.Caller{}, search.Request{Question: "bees"})
			return err
		},
		"embed": func(e AdmittedEngine) error {
			_, err := e.Embed(t.Context(), search.Caller{}, lookup.EmbedRequest{Expert: "wiki", Input: []string{"bees"}})
			return err
		},
		"rerank": func(e AdmittedEngine) error {
			_, err := e.Rerank(t.Context(), search.Caller{}, lookup.RerankRequest{Question: "bees", Texts: []string{"bees"}})
			return err
		},
		"passage": func(e AdmittedEngine) error {
			_, _, err := e.Passage(t.Context(), search.Caller{}, "bees")
			return err
		},
		"list": func(e AdmittedEngine) error {
			_, _, err := e.List(t.Context(), search.Caller{}, "", 3)
			return err
		},
	}
	// ask asks in a call, and says how much room the answer took.
	ask := func(what func(e AdmittedEngine) error) (room int64, err error) {
		r := requestTo("/", "")
		c := &call{
			api:       api,
			operation: &schema.Operation{},
			cost:      front.Searching(0),
			r:         r.WithContext(context.WithValue(r.Context(), front.ExchangeKey{}, &front.Exchange{Arrived: time.Now()})),
		}
		defer c.releaseAll()
		if err := c.admitEarly(); err != nil {
			return 0, err
		}
		e, err := c.admittedEngine()
		if err != nil {
			t.Fatal(err)
		}
		err = what(e)
		return front.ExchangeOf(c.r.Context()).Admitted.Room.Bytes(), err
	}
	for name, what := range asks {
		for range 10 { // more than there are places
			var refused *schema.Problem
			room, err := ask(what)
			if errors.As(err, &refused) || room == 0 && name != "rerank" { // there is nothing here that reranks
				t.Errorf("%s: %v, %d bytes of room", name, err, room)
			}
		}
	}
	if roomTakenOf(api) != 0 {
		t.Errorf("%d bytes are taken after the requests", roomTakenOf(api))
	}
	place, err := control.Hold(4)
	if err != nil {
		t.Fatal(err)
	}
	defer place.Leave()
	for name, what := range asks {
		var refused *schema.Problem
		if _, err := ask(what); !errors.As(err, &refused) || refused.Status != http.StatusTooManyRequests {
			t.Errorf("%s with no place: %v", name, err)
		}
	}
}
