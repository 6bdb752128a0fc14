package endtoend

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// besideMemory is what a server may have in memory beside limits.memory, and beside what it
// had when it was ready: goroutines and buffers of connections, what searches found, and
// what waits to be collected. docs/operations.md states it.
const besideMemory = 64 << 20

// TestMemoryOfEverything: whatever a caller asks for, with the largest bodies and the most
// expensive passages, forty at a time who read nothing of their answers, the server keeps
// to limits.memory and a constant. It is a process of its own.
func TestMemoryOfEverything(t *testing.T) {
	const memory = 96 << 20
	s := newSite(
		t,
		fmt.Sprintf("limits: {memory: %d, answer_bytes: 6MiB, timeout: 700ms}\nsearch: {timeout: 700ms}\n", memory),
		[]string{"small", "interaction"},
		"small,interaction",
		expensive(),
	)
	p := s.serve("")
	before := p.resident()
	most := int64(0)
	stop, ended := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	asked, worst := "", ""
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			mu.Lock()
			if now := p.resident(); now > most {
				most, worst = now, asked
			}
			mu.Unlock()
		}
	}()
	for _, a := range p.demands() {
		mu.Lock()
		asked = a.name
		mu.Unlock()
		callers := 40 // whose answers, of up to 6 MiB each, are twice as much as there is memory for
		if len(a.body) > 64<<10 {
			callers = 12 // whose bodies are
		}
		began := time.Now()
		statuses := p.together(a, callers)
		mu.Lock()
		t.Logf(
			"%s: %v in %v, %d MiB at most so far",
			a.name,
			statuses,
			time.Since(began).Round(time.Millisecond),
			(most-before)>>20,
		)
		mu.Unlock()
		answered := func() int {
			return statuses[200] + statuses[201] + statuses[202] + statuses[204] + statuses[504] + statuses[a.expect]
		}
		for tries := 0; answered() == 0 && tries < 5; tries++ { // one that comes again when it is told to
			time.Sleep(time.Second)
			statuses = p.together(a, 1)
		}
		if answered() == 0 {
			t.Errorf("%s: nobody was answered: %v", a.name, statuses)
		}
	}
	close(stop)
	<-ended
	t.Logf(
		"resident: %d MiB before, %d MiB more at most (%s); %d MiB are allowed",
		before>>20,
		(most-before)>>20,
		worst,
		(memory+besideMemory)>>20,
	)
	if most > before+memory+besideMemory {
		t.Errorf("%d MiB more were resident, at %s", (most-before)>>20, worst)
	}
	p.stop()
}

// expensive returns passages that are as large as they may be, and larger still as JSON.
func expensive() string {
	var lines strings.Builder
	metadata := map[string]any{}
	for i := range 256 {
		metadata[fmt.Sprint("k", i)] = i
	}
	for i := range 20 {
		text := "large " + strings.Repeat(`"`, 240<<10)
		if i%2 == 1 {
			text = "large " + strings.Repeat("\x01", 160<<10)
		}
		line, err := json.Marshal(
			map[string]any{
				"id":       fmt.Sprint("large/", i),
				"title":    strings.Repeat(`"`, 200),
				"text":     text,
				"tags":     []string{"t"},
				"metadata": metadata,
			},
		)
		if err != nil {
			panic(err)
		}
		lines.Write(append(line, '\n'))
	}
	return lines.String()
}

// demand is a request that is sent many times.
type demand struct {
	name, method, path, body, contentType string
	expect                                int           // a status beside those of success
	patience                              time.Duration // with the answer; 0: 4 seconds
	packed                                bool          // the answer is asked for compressed
}

// demands returns one or more for each operation of the document and each tool.
func (p *process) demands() (all []demand) {
	many := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	long := strings.TrimSpace(strings.Repeat("large words ", 8<<10/12))
	questions := many(100, `{"question":"large","k":20}`)
	texts := many(255, strconv.Quote(strings.Repeat("large words ", 320)))
	short := many(255, `"large words"`)
	line := fmt.Sprintf(`{"id":"x","text":%q}`, "large "+strings.Repeat(`"`, 200<<10))
	candidates := many(
		1000,
		`{"id":"x%d","contributions":[{"source":"a","score":1,"rank":1},{"source":"b","score":1,"rank":1}]}`,
	)
	for n := 0; strings.Contains(candidates, "%d"); n++ {
		candidates = strings.Replace(candidates, "%d", strconv.Itoa(n), 1)
	}
	bodies := map[string]string{
		"/v1/search":         fmt.Sprintf(`{"question":%q,"k":20,"explain":true}`, long),
		"/v1/collections":    `{"name":"d"}`,
		"/v1/search/batch":   `{"searches":[` + questions + `]}`,
		"/v1/fuse":           `{"fusion":"rrf","candidates":[` + candidates + `]}`,
		"/v1/embed":          `{"expert":"` + p.expert + `","input":[` + texts + `]}`,
		"/v1/passages":       strings.Repeat(line+"\n", 8),
		"/v1/passages/{id}":  strings.Replace(line, `"id":"x",`, "", 1),
		"/v1/documents":      "PK\x03\x04" + many(800<<10/8, "rubbish"),
		"/v1/documents/{id}": strings.Repeat("# Large\n\nLarge words.\n\n", 200),
		"/v1/files": "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"large.md\"\r\n\r\n" +
			strings.Repeat("Large words.\n\n", 200) + "\r\n--b--\r\n",
		"/v1/vector_stores/c/files":        `{"file_id":"none"}`,
		"/v1/vector_stores/c/files/{file}": `{"attributes":{"kind":"large"}}`,
		"/v1/admin/snapshots":              `{"name":"s"}`,
		"/v1/admin/experts":                `{"name":"nothing"}`,
		"/v1/admin/settings":               `{"synonyms":[{"words":["large","big"]}],"fields":{"price":"number"}}`,
		"/v1/admin/calibrations":           `{"dry_run":true}`,
		"/v1/admin/evaluations":            `{}`,
		"/v1/judgments":                    fmt.Sprintf(`{"question":%q,"passage":"large/0"}`, long),
		"/v1/chat/completions":             `{"model":"conclave","messages":[{"role":"user","content":"large"}]}`,
		"/v1/responses":                    `{"model":"conclave","input":"large"}`,
		"/v1/completions":                  `{"model":"conclave","prompt":"large"}`,
		"/v1/vector_stores":                `{"name":"d"}`,
		"/v1/embeddings":                   `{"model":"` + p.expert + `","input":[` + short + `]}`,
		"/v1/vector_stores/c/search":       `{"query":"large","max_num_results":20}`,
		"/embed":                           `{"inputs":[` + texts + `],"truncate":true}`,
		"/rerank":                          `{"query":"large","truncate":true,"return_text":true,"texts":[` + texts + `]}`,
		"/v1/rerank":                       `{"query":"large","return_documents":true,"documents":[` + texts + `]}`,
		"/v2/rerank":                       `{"query":"large","return_documents":true,"documents":[` + texts + `]}`,
		"/retrieval":                       `{"knowledge_id":"c","query":"large","retrieval_setting":{"top_k":20}}`,
		"/mcp":                             `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	}
	// A megabyte that is worth several once it is parsed.
	values := `{"question":[` + many(16_000, `{"a":1}`) + `],"x":"` + strings.Repeat("x", 800<<10) + `"}`
	add := func(method, path string) {
		a := demand{name: method + " " + path, method: method, contentType: "application/json"}
		a.path = strings.NewReplacer("/passages/{id}", "/passages/large/0", "/experts/{name}", "/experts/"+p.expert, "/v1/collections/{collection}", "/v1/collections/c", "/snapshots/{name}", "/snapshots/none", "/jobs/{id}", "/jobs/999999").
			Replace(path)
		switch method {
		case http.MethodPost, http.MethodPut:
			a.body = bodies[path]
			if a.body == "" {
				p.t.Fatalf("tell this test what to send to %s", path)
			}
			hostile := a
			hostile.name = a.name + ", many values"
			hostile.body = values
			hostile.expect = 400
			if path == "/mcp" {
				hostile.expect = 413
			}
			switch path {
			case "/v1/passages/{id}":
				a.path, hostile.path = "/v1/passages/put", "/v1/passages/put"
			case "/v1/documents/{id}":
				a.path, hostile.path = "/v1/documents/put.md", "/v1/documents/put.md"
				a.contentType = "text/markdown"
				a.patience = 20 * time.Second // readers of files have to start
				hostile.patience = a.patience
			case "/v1/documents":
				a.contentType = "application/zip" // of JSON it wants the address of a page
				hostile.contentType = a.contentType
				a.expect, hostile.expect = 422, 415
			case "/v1/files":
				a.contentType = "multipart/form-data; boundary=b"
				hostile.expect = 415
			case "/v1/vector_stores/c/files", "/v1/vector_stores/c/files/{file}":
				a.expect = 404
			}
			if path == "/v1/passages" {
				a.contentType = "application/x-ndjson"
				a.path += "?stream=true"
			} else {
				defer func() { all = append(all, hostile) }()
			}
			if strings.HasPrefix(path, "/v1/admin") || path == "/v1/fuse" {
				a.expect = 422
			}
			if path == "/v1/collections" || path == "/v1/vector_stores" {
				a.expect = 403
			}
		case http.MethodDelete:
			a.path = strings.Replace(a.path, "/passages/large/0", "/passages/large/19", 1)
			if path == "/v1/admin/experts/{name}" {
				a.path = "/v1/admin/experts/nothing"
			}
			if path == "/v1/passages" {
				a.path += "?tags_all=none"
			}
			a.expect = 404
			if strings.HasPrefix(path, "/v1/collections") || path == "/v1/vector_stores/c" {
				a.expect = 403
			}
		default:
			if path == "/v1/search" {
				a.path += "?q=large&k=20&explain=true"
			}
			a.expect = 404
		}
		all = append(all, a)
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	p.get(http.MethodGet, "/openapi.json", "", http.StatusOK, &document)
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		if strings.HasPrefix(path, "/v1/collections/{collection}/") {
			continue // the same by another path
		}
		for _, method := range slices.Sorted(maps.Keys(document.Paths[path])) {
			add(strings.ToUpper(method), strings.Replace(path, "{collection}", "c", 1))
		}
	}
	for _, page := range []string{"/", "/docs/docs.js", "/guide/"} {
		add(http.MethodGet, page)
	}
	var listed struct {
		Result struct{ Tools []struct{ Name string } }
	}
	p.get(http.MethodPost, "/mcp", bodies["/mcp"], http.StatusOK, &listed)
	arguments := map[string][]string{
		"search": {
			`{"query":"large"}`,
			`{"query":` + strconv.Quote(long) + `}`,
		}, "fetch": {`{"id":"large/0"}`, `{"id":"large/1"}`},
		"answer":       {`{"query":"large"}`},
		"list_experts": {`{}`}, "explain": {`{"query":` + strconv.Quote(long) + `}`},
	}
	for _, tool := range listed.Result.Tools {
		if arguments[tool.Name] == nil {
			p.t.Fatalf("tell this test what to call the tool %s with", tool.Name)
		}
		for _, given := range arguments[tool.Name] {
			all = append(
				all,
				demand{
					name:        fmt.Sprintf("the tool %s %.20s", tool.Name, given),
					method:      http.MethodPost,
					path:        "/mcp",
					contentType: "application/json",
					body: fmt.Sprintf(
						`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
						tool.Name,
						given,
					),
				},
			)
		}
	}
	list := demand{
		name:        "a list of calls",
		method:      http.MethodPost,
		path:        "/mcp",
		contentType: "application/json",
		expect:      400,
		patience:    20 * time.Second, // for servers that answer it
		body: "[" + many(
			500,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{"id":"large/0"}}}`,
		) + "]",
	}
	return append(all, list)
}

// together sends a request over so many connections, and counts the statuses of the answers,
// of which nothing else is read for a while; 0: there was none.
func (p *process) together(a demand, connections int) map[int]int {
	statuses := map[int]int{}
	all := make(chan int)
	got := sync.WaitGroup{}
	got.Add(connections)
	release := make(chan struct{})
	for i := range connections {
		go func() {
			status := 0
			c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				got.Done()
				all <- status
				return
			}
			defer func() { _ = c.Close() }()
			_ = c.SetDeadline(time.Now().Add(cmp.Or(a.patience, 4*time.Second)))
			go func() {
				encoding := ""
				if i%2 == 0 {
					encoding = "Accept-Encoding: gzip\r\n"
				}
				if a.body != "" {
					encoding += fmt.Sprintf("Content-Type: %s\r\nContent-Length: %d\r\n", a.contentType, len(a.body))
				}
				_, _ = fmt.Fprintf(
					c,
					"%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n%s",
					a.method,
					a.path,
					encoding,
					a.body,
				)
			}()
			line, err := bufio.NewReaderSize(c, 16).ReadString('\n')
			if fields := strings.Fields(line); err == nil && len(fields) > 1 {
				status, _ = strconv.Atoi(fields[1])
			}
			got.Done()
			<-release
			all <- status
		}()
	}
	got.Wait()
	time.Sleep(30 * time.Millisecond) // the answers are there
	close(release)
	for range connections {
		statuses[<-all]++
	}
	return statuses
}

// resident returns the memory that a process has for itself, in bytes.
func (p *process) resident() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "RssAnon:" { // without mapped files
			kB, _ := strconv.ParseInt(fields[1], 10, 64)
			return kB << 10
		}
	}
	p.t.Fatal("the system does not say how much memory a process has")
	return 0
}
