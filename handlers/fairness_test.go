package handlers

import (
	"bufio"
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/identity"
	"example.org/conclave/internal/overload"
)

// twoKeys returns two keys whose texts are their names, many and other.
func twoKeys() []front.Key {
	key := func(name string) front.Key {
		return front.Key{Name: name, SHA256: sha256.Sum256([]byte(name)), Scopes: []schema.Scope{schema.ScopeAdmin}}
	}
	return []front.Key{key("many"), key("other")}
}

// TestConnectionsOfOneKey: of 64 connections a key that is alone holds 48 with uploads that wait or are sent
// slowly, of both kinds and over either protocol; its next requests are told to come back, and another key's
// searches are answered.
func TestConnectionsOfOneKey(t *testing.T) {
	timeouts := testTimeouts()
	timeouts.ReadTimeout = 10 * time.Minute
	timeouts.Connections = 64
	s := startWriting(t, writingOptions{
		Options:  Options{Keys: twoKeys(), Write: WriteLimits{Uploads: 8}},
		timeouts: []ServeOptions{timeouts},
	})
	begun := strings.Replace(slowUpload, "\r\n", "\r\nX-API-Key: many\r\n", 1)
	slow := []string{begun, strings.Replace(slowSearch, "\r\n", "\r\nX-API-Key: many\r\n", 1)}
	search := func(key string) received {
		return s.send(http.MethodPost, "/v1/search", `{"question":"bees"}`, "Content-Type", schema.TypeJSON, "X-API-Key", key)
	}
	held := func(n int) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); s.api.connections.Held("key many") != n; runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("%d connections are held, not %d", s.api.connections.Held("key many"), n)
			}
		}
	}
	var open []net.Conn
	for i := range 48 {
		open = append(open, s.drip(slow[i%2]))
		held(i + 1)
	}
	for i := range 32 {
		c := s.drip(slow[i%2])
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") == "" ||
			!response.Close {
			t.Fatalf("connection %d: %+v %v", 48+i, response, err)
		}
		if r := search("other"); r.StatusCode != http.StatusOK {
			t.Fatalf("another key beside %d: %d %s", 48+i, r.StatusCode, r.body)
		}
	}
	for _, c := range open[:8] {
		_ = c.Close()
	}
	held(40)
	if r := search("many"); r.StatusCode != http.StatusOK {
		t.Errorf("when some are answered: %d %s", r.StatusCode, r.body)
	}
}

// openedLate are collections the first use of which takes longer than a search may.
type openedLate struct {
	*shelf
	takes time.Duration
}

func (o *openedLate) Use(ctx context.Context, name string) (*Collection, func(), error) {
	time.Sleep(o.takes)
	o.takes = 0
	return o.shelf.Use(ctx, name)
}

func (o *openedLate) Join(ctx context.Context, names []string) (*Collection, func(), error) {
	time.Sleep(o.takes)
	o.takes = 0
	return o.shelf.Join(ctx, names)
}

// TestFirstSearch: who comes first after a start waits for the collection to be opened, and has then as much time as
// others. The search is not told that there is too much to do.
func TestFirstSearch(t *testing.T) {
	engine := testEngine(t, engineOptions{})
	for _, first := range []struct{ method, path, body string }{
		{"POST", "/v1/search", `{"question":"bees","timeout_ms":100}`},
		{"POST", "/v1/search", `{"question":"bees","collections":["main","other"],"timeout_ms":100}`},
		{"POST", "/v1/collections/main/search", `{"question":"bees","timeout_ms":100}`},
		{"GET", "/v1/search?q=bees&timeout_ms=100", ""},
		{"GET", "/v1/collections/main/search?q=bees&timeout_ms=100", ""},
		{"POST", "/v1/search/batch", `{"searches":[{"question":"bees","timeout_ms":100}]}`},
	} {
		late := &openedLate{shelfOf(map[string]Engine{"main": engine, "other": engine}), 150 * time.Millisecond}
		api := newAPI(t, Options{Name: "main", Collections: late, Limits: engine.Limits()})
		api.MarkStarted()
		if status, text := asking(t, api, first.method, first.path, first.body, ""); status != 200 ||
			!strings.Contains(text, `"results"`) || late.takes > 0 {
			t.Errorf("%v: %d %.400s", first, status, text)
		}
	}
}

// TestOneProcessorAtATime: whatever is asked, a request takes no second turn while it has one, so that one processor is
// enough, and gives back what it took: also where its answer is large, or it is refused.
func TestOneProcessorAtATime(t *testing.T) {
	control, err := overload.New(64, 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	api, _ := walkedAPI(t, Options{Admission: control})
	for _, v := range everything(t, api) {
		for _, body := range []string{v.body, v.body + strings.Repeat(" ", 2*turnBytes), "[" + strings.Repeat("{},", turnBytes) + "{}]"} {
			if v.page || v.body == "" && body != "" {
				continue
			}
			v.body = body
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			v.visit(t, api, ctx, "")
			if ctx.Err() != nil {
				t.Fatalf("%s does not end", v.name)
			}
			done, err := control.Turn(ctx)
			if err != nil {
				t.Fatalf("%s keeps the processor: %v", v.name, err)
			}
			done()
			cancel()
		}
	}
}

// TestTurnsAreOfKeys: every part of a request takes the turns of its own key's group: whenever the only processor comes
// free while this key waits for it, this key is next or the one after, however many requests of another key wait. So
// none of the other key's sixteen requests, which came before, ends first. The test has the processor between any two
// turns, until the key waits again.
func TestTurnsAreOfKeys(t *testing.T) {
	now := time.Now()
	control, err := overload.New(64, 1, func() time.Time { return now }) // so that all used as much
	if err != nil {
		t.Fatal(err)
	}
	patient := engineOptions{turns: control}
	patient.limits.Timeout = time.Minute
	api := newAPI(t, Options{Admission: control, Engine: testEngine(t, patient), Keys: twoKeys()})
	hold := func() (letGo func()) {
		letGo, err := control.Turn(identity.WithGroup(t.Context(), "this test"))
		if err != nil {
			t.Fatal(err)
		}
		return letGo
	}
	// until calls runtime.Gosched until done returns true.
	until := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !done(); runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("%s: not within a minute", what)
			}
		}
	}
	letGo := hold()
	// The usual time would run out for those who wait. The body is so large that parsing it takes a turn, too.
	body := `{"timeout_ms":60000,"question":"bees"}` + strings.Repeat(" ", turnBytes)
	ended := make(chan string, 17)
	for i, key := range slices.Concat(slices.Repeat([]string{"many"}, 16), []string{"other"}) {
		go func() {
			if status, text := asking(t, api, "POST", "/v1/search", body, key); status != 200 {
				t.Errorf("%s: %d %.200s", key, status, text)
			}
			ended <- key
		}()
		until("a request waits for a processor", func() bool {
			return control.Waiting("\x00many")+control.Waiting("\x00other") == i+1
		})
	}
	turns := 0
	for ; len(ended) == 0; turns++ {
		next := make(chan func())
		go func() { next <- hold() }()
		until("the test waits for its turn", func() bool { return control.Waiting("this test") == 1 })
		letGo()
		letGo = <-next
		until("the key waits in its group or has its answer",
			func() bool { return control.Waiting("\x00other") > 0 || len(ended) > 0 })
	}
	letGo()
	if first := <-ended; first != "other" || turns < 4 {
		t.Errorf("after %d turns %s is answered first", turns, first)
	}
	for range 16 {
		<-ended
	}
}
