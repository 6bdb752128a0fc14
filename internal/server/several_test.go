package server

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/collections"
)

// several returns a site whose server serves a data folder.
func several(t *testing.T) *site {
	t.Helper()
	s := newSite(t, named("one", "two"), "one")
	s.config.Data = filepath.Join(s.dir, "data")
	return s
}

// create makes a collection with a request's body, and returns its description.
func (s *served) create(body string) collections.Info {
	s.t.Helper()
	var info collections.Info
	s.call(http.MethodPost, "/v1/collections", body, http.StatusCreated, &info)
	return info
}

// add puts a passage into a collection and waits until it is found.
func (s *served) add(collection, id, text string) {
	s.t.Helper()
	s.call(http.MethodPut, "/v1/collections/"+collection+"/passages/"+id+"?refresh=wait",
		fmt.Sprintf(`{"text":%q}`, text), http.StatusCreated, nil)
}

// foundIn returns the ids that a search of a collection finds, best first, with spaces between.
func (s *served) foundIn(collection, question string) string {
	s.t.Helper()
	var answer struct{ Results []struct{ ID string } }
	s.call(http.MethodPost, "/v1/collections/"+collection+"/search",
		fmt.Sprintf(`{"question":%q,"fusion":"rrf"}`, question), http.StatusOK, &answer)
	var ids []string
	for _, r := range answer.Results {
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, " ")
}

// TestSeveral: collections come, are filled, searched apart from each other, survive a restart, and go.
func TestSeveral(t *testing.T) {
	site := several(t)
	s := site.serve()
	a := s.create(`{"name":"a","experts":["one"],"description":"the first","search":{"k":1}}`)
	if a.Status != collections.Opened || a.Passages == nil || *a.Passages != 0 || fmt.Sprint(a.Experts) != "[one]" ||
		a.Settings.Description != "the first" || a.Created == nil {
		t.Errorf("%+v", a)
	}
	s.create(`{"name":"b","experts":["one","two"]}`)
	s.create(`{"name":"words","experts":["none"],"analysis":"lucene"}`)
	german := s.create(`{"name":"german","experts":["none"],"languages":["de"]}`)
	if german.Settings.Analysis != "unicode-de" || fmt.Sprint(german.Settings.Languages) != "[de]" {
		t.Errorf("a collection in German: %+v", german.Settings)
	}
	s.add("german", "5", "Die Häuser am See.")
	if got := s.foundIn("german", "welches Haus"); got != "5" {
		t.Errorf("in another inflection: %q", got)
	}
	s.call(http.MethodDelete, "/v1/collections/german", "", http.StatusNoContent, nil)
	s.call(http.MethodPost, "/v1/collections", `{"name":"x","languages":["xx"]}`, http.StatusUnprocessableEntity, nil)
	s.add("a", "1", "Cooked rice keeps for a day.")
	s.add("a", "2", "Cooked rice does not keep for a week.")
	s.add("b", "3", "Rice grows in water.")
	s.add("words", "4", "Rice paper.")
	s.call(http.MethodPost, "/v1/collections", `{"name":"a","experts":["one"]}`, http.StatusConflict, nil)
	s.call(http.MethodPost, "/v1/collections", `{"name":"../x","experts":["one"]}`, http.StatusUnprocessableEntity, nil)
	s.call(http.MethodPost, "/v1/collections", `{"name":"x","experts":["nobody"]}`, http.StatusUnprocessableEntity, nil)
	s.call(http.MethodPost, "/v1/search", `{"question":"rice"}`, http.StatusNotFound, nil) // no default
	check := func(s *served) {
		t.Helper()
		if got := s.foundIn("a", "rice week"); got != "2" { // k is 1 there
			t.Errorf("a: %q", got)
		}
		if got := s.foundIn("b", "rice"); got != "3" {
			t.Errorf("b: %q", got)
		}
		if got := s.foundIn("words", "rice"); got != "4" {
			t.Errorf("words: %q", got)
		}
	}
	check(s)
	s.end()
	s = site.serve()
	var list struct{ Collections []collections.Info }
	s.call(http.MethodGet, "/v1/collections", "", http.StatusOK, &list)
	if len(list.Collections) != 3 || list.Collections[0].Status != collections.Closed {
		t.Errorf("%+v", list)
	}
	check(s)
	s.measures(`conclave_passages{collection="a"} 2`, `conclave_passages{collection="b"} 1`,
		`conclave_collection_bytes{collection="a"} `, `conclave_jobs{collection="words",state="queued"} 0`,
		`conclave_backlog_changes{collection="a"} 0`, `conclave_collection_requests_total{collection="a",status="2xx"} `)
	s.call(http.MethodDelete, "/v1/collections/a", "", http.StatusNoContent, nil)
	if text := s.metrics(); strings.Contains(text, `collection="a"`) {
		t.Error("one that is removed has series still")
	}
	s.call(http.MethodGet, "/v1/collections/a", "", http.StatusNotFound, nil)
	s.call(http.MethodPost, "/v1/collections/a/search", `{"question":"rice"}`, http.StatusNotFound, nil)
	s.create(`{"name":"a","experts":["one"]}`)
	if got := s.foundIn("a", "rice week"); got != "" {
		t.Errorf("of another collection: %q", got)
	}
	s.create(`{"name":"default","experts":["one"]}`)
	s.call(http.MethodPut, "/v1/passages/9?refresh=wait", `{"text":"Rice."}`, http.StatusCreated, nil)
	if got := s.foundIn("default", "rice"); got != "9" {
		t.Errorf("the default: %q", got)
	}
	s.end()
	left, err := os.ReadDir(site.config.Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if strings.HasPrefix(e.Name(), ".making") || strings.HasPrefix(e.Name(), ".removed") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// metrics asks the server for /metrics and returns the text. The test fails if it cannot be had.
func (s *served) metrics() string {
	s.t.Helper()
	answer, err := http.Get(s.url + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.t.Errorf("/metrics: %d %v %s", answer.StatusCode, err, text)
	}
	return string(text)
}

// measures fails the test unless /metrics has a line that begins with each of series.
func (s *served) measures(series ...string) {
	s.t.Helper()
	text := s.metrics()
	for _, one := range series {
		if !strings.Contains(text, "\n"+one) {
			s.t.Errorf("there is no %s in\n%s", one, text)
		}
	}
}

// TestOpenAndClosed: no more collections are open than may be, the longest unused is closed, and a
// closed one answers as before. Nobody notices with many at once.
func TestOpenAndClosed(t *testing.T) {
	site := several(t)
	site.config.Collections.Open = 2
	site.config.Collections.Idle = time.Hour
	s := site.serve()
	for i := range 4 {
		name := fmt.Sprint("c", i)
		s.create(fmt.Sprintf(`{"name":%q,"experts":["one"]}`, name))
		s.add(name, fmt.Sprint("p", i), "Rice.")
	}
	open := func() (names []string) {
		var list struct{ Collections []collections.Info }
		s.call(http.MethodGet, "/v1/collections", "", http.StatusOK, &list)
		for _, c := range list.Collections {
			if c.Status == collections.Opened {
				names = append(names, c.Name)
			}
		}
		return names
	}
	if got := fmt.Sprint(open()); got != "[c2 c3]" {
		t.Errorf("%v are open", got)
	}
	done := make(chan string, 40)
	for i := range cap(done) {
		go func() { done <- fmt.Sprint(i%4, " ", s.foundIn(fmt.Sprint("c", i%4), "rice")) }()
	}
	for range cap(done) {
		if got := <-done; got != "0 p0" && got != "1 p1" && got != "2 p2" && got != "3 p3" {
			t.Error(got)
		}
	}
	s.end()
	site.config.Collections.Idle = 50 * time.Millisecond
	s = site.serve()
	defer s.end()
	if got := s.foundIn("c1", "rice"); got != "p1" {
		t.Error(got)
	}
	for len(open()) > 0 { // else the test's own time ends
		time.Sleep(10 * time.Millisecond)
	}
	if got := s.foundIn("c1", "rice"); got != "p1" {
		t.Error(got)
	}
}

// TestOpenBytes: no more collections are open than their files may have bytes together; one that is larger than that
// is open by itself.
func TestOpenBytes(t *testing.T) {
	site := several(t)
	s := site.serve()
	bytes := int64(0)
	for i := range 4 {
		name := fmt.Sprint("c", i)
		s.create(fmt.Sprintf(`{"name":%q,"experts":["one"]}`, name))
		s.add(name, "p", "Rice.")
	}
	var info collections.Info
	s.call(http.MethodGet, "/v1/collections/c0", "", http.StatusOK, &info)
	bytes = *info.Bytes
	s.end()
	for most, want := range map[int64]int{5 * bytes / 2: 2, 9 * bytes / 2: 4, bytes / 2: 1} {
		site.config.Collections.OpenBytes = configs.ByteSize(most)
		s = site.serve()
		for i := range 8 {
			if got := s.foundIn(fmt.Sprint("c", i%4), "rice"); got != "p" {
				t.Errorf("%q", got)
			}
		}
		var list struct{ Collections []collections.Info }
		s.call(http.MethodGet, "/v1/collections", "", http.StatusOK, &list)
		open := 0
		for _, c := range list.Collections {
			if c.Status == collections.Opened {
				open++
			}
		}
		if open != want {
			t.Errorf("with %d bytes, of %d each, %d are open, not %d", most, bytes, open, want)
		}
		s.end()
	}
}

// TestDamagedCollection: one that cannot be opened is named, and keeps no other from anything.
func TestDamagedCollection(t *testing.T) {
	site := several(t)
	s := site.serve()
	s.create(`{"name":"good","experts":["one"]}`)
	s.create(`{"name":"bad","experts":["one"]}`)
	s.create(`{"name":"unread","experts":["one"]}`)
	s.add("good", "1", "Rice.")
	s.add("bad", "2", "Rice.")
	s.end()
	site.flip("data/bad/MANIFEST", func(size int) int { return size / 2 })
	site.write("data/unread/collection.yaml", "quotas: 7\n")
	s = site.serve()
	defer s.end()
	if got := s.foundIn("good", "rice"); got != "1" {
		t.Error(got)
	}
	for _, name := range []string{"bad", "unread"} {
		s.call(http.MethodPost, "/v1/collections/"+name+"/search", `{"question":"rice"}`, http.StatusServiceUnavailable, nil)
		var info collections.Info
		s.call(http.MethodGet, "/v1/collections/"+name, "", http.StatusOK, &info)
		if info.Status != collections.Failed || info.Detail == "" || strings.Contains(info.Detail, site.dir) {
			t.Errorf("%+v", info)
		}
		var health struct{ Warnings []string }
		s.call(http.MethodGet, "/readyz", "", http.StatusOK, &health)
		if !strings.Contains(fmt.Sprint(health.Warnings), "collection "+name) {
			t.Errorf("%v", health)
		}
		s.call(http.MethodDelete, "/v1/collections/"+name, "", http.StatusNoContent, nil)
		if got := s.warnings("collection " + name); got != "" {
			t.Errorf("of one that is gone: %s", got)
		}
		s.create(fmt.Sprintf(`{"name":%q,"experts":["one"]}`, name))
	}
}

// TestDamagedApart: /readyz needs no key, so where keys are for some collections alone it names none.
func TestDamagedApart(t *testing.T) {
	site := several(t)
	s := site.serve()
	s.create(`{"name":"tenant","experts":["one"]}`)
	s.end()
	site.write("data/tenant/collection.yaml", "quotas: 7\n")
	site.config.Auth.Keys = []configs.Key{{
		Name: "other", SHA256: strings.Repeat("ab", sha256.Size), Scopes: []string{"admin"}, Collections: []string{"other"},
	}}
	s = site.serve()
	defer s.end()
	var health json.RawMessage
	s.call(http.MethodGet, "/readyz", "", http.StatusOK, &health)
	if text := string(health); strings.Contains(text, "tenant") || !strings.Contains(text, "1 cannot be used") {
		t.Error(text)
	}
}

// TestQuotas: a collection takes passages up to its quota, exactly, whoever sends them and however; what takes the
// place of a passage, or deletes one, is taken at the quota, too.
func TestQuotas(t *testing.T) {
	s := several(t).serve()
	defer s.end()
	s.create(`{"name":"q","experts":["none"],"quotas":{"passages":5}}`)
	upload := func(lines string, want int) string {
		t.Helper()
		at := s.url + "/v1/collections/q/passages?refresh=wait"
		request, err := http.NewRequest(http.MethodPost, at, strings.NewReader(lines))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-ndjson")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != want {
			t.Errorf("%d %s %v, not %d", response.StatusCode, text, err, want)
		}
		return string(text)
	}
	upload(`{"id":"1","text":"a"}`+"\n"+`{"id":"2","text":"b"}`+"\n"+`{"id":"3","text":"c"}`, http.StatusOK)
	at := "/v1/collections/q/passages/"
	put := func(id string, want int) { t.Helper(); s.call(http.MethodPut, at+id, `{"text":"x"}`, want, nil) }
	done := make(chan int)
	for i := range 8 { // of eight at once, two find room
		go func() {
			request, err := http.NewRequest(http.MethodPut, s.url+at+fmt.Sprint("n", i), strings.NewReader(`{"text":"y"}`))
			if err != nil {
				done <- 0
				return
			}
			request.Header.Set("Content-Type", "application/json")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				done <- 0
				return
			}
			_ = response.Body.Close()
			done <- response.StatusCode
		}()
	}
	statuses := map[int]int{}
	for range 8 {
		statuses[<-done]++
	}
	if statuses[http.StatusCreated] != 2 || statuses[http.StatusForbidden] != 6 {
		t.Errorf("%v", statuses)
	}
	put("1", http.StatusOK)
	put("6", http.StatusForbidden)
	if text := upload(`{"id":"7","text":"a"}`, http.StatusForbidden); !strings.Contains(text, "quota_exceeded") {
		t.Errorf("%s", text)
	}
	s.call(http.MethodDelete, at+"2", "", http.StatusOK, nil)
	put("6", http.StatusCreated)
	put("7", http.StatusForbidden)
	s.create(`{"name":"small","experts":["none"],"quotas":{"bytes":300}}`)
	long := strings.Repeat("word ", 50)
	s.call(http.MethodPut, "/v1/collections/small/passages/a", fmt.Sprintf(`{"text":%q}`, long), http.StatusCreated, nil)
	s.call(http.MethodPut, "/v1/collections/small/passages/b", fmt.Sprintf(`{"text":%q}`, long), http.StatusForbidden, nil)
	s.call(http.MethodDelete, "/v1/collections/small/passages/a", "", http.StatusOK, nil)
}

// TestOpeningIsWaitedFor: a request whose collection takes too long to be opened is told to come back, also by the
// collections of its body, and a later one finds it open.
func TestOpeningIsWaitedFor(t *testing.T) {
	site := several(t)
	s := site.serve()
	s.create(`{"name":"a","experts":["one"]}`)
	s.add("a", "1", "Cooked rice keeps for a day.")
	s.end()
	s = site.serve()
	defer s.end()
	for range openAtOnce { // as many are being opened as may be
		s.several.opening <- struct{}{}
	}
	s.several.openWithin = time.Millisecond
	var refused struct{ Code string }
	s.call(http.MethodPost, "/v1/collections/a/search", `{"question":"rice"}`, http.StatusServiceUnavailable, &refused)
	if refused.Code != collections.NotOpen {
		t.Errorf("%+v", refused)
	}
	s.call(http.MethodPost, "/v1/search", `{"question":"rice","collections":["a"]}`,
		http.StatusServiceUnavailable, &refused)
	if refused.Code != collections.NotOpen {
		t.Errorf("%+v", refused)
	}
	for range openAtOnce {
		<-s.several.opening
	}
	s.several.openWithin = time.Minute
	if got := s.foundIn("a", "rice"); got != "1" {
		t.Errorf("%q", got)
	}
}
