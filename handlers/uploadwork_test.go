package handlers

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/handlers/upload"
	"example.org/conclave/store"
)

// packed returns a text, repeated, in gzip.
func packed(t testing.TB, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, part := range parts {
		if _, err := io.WriteString(z, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestBlankLinesAreSkipped compares with cutting at each end of a line.
func TestBlankLinesAreSkipped(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var text strings.Builder
		for range rng.IntN(60) {
			text.WriteString(
				[]string{"\n", "\r\n", " ", "\t\n", "x", "{}\n", strings.Repeat("\n", 70_000)}[rng.IntN(7)],
			)
		}
		var want []string
		for i, line := range strings.Split(text.String(), "\n") {
			line = strings.TrimSpace(line)
			if line != "" {
				want = append(want, fmt.Sprint(i+1, " ", line))
			}
		}
		var got []string
		reader := upload.NewLineReader(iotest.HalfReader(strings.NewReader(text.String())), 1000)
		for {
			lines, err := reader.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines {
				got = append(got, fmt.Sprint(line.Number, " ", string(line.Text)))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%.200q: %.300q, want %.300q", text.String(), got, want)
		}
	}
}

// TestUploadRejects: an upload of lines that are rejected ends; one in which good ones are
// among them does not, but what is answered to a few bytes is bounded.
func TestUploadRejects(t *testing.T) {
	s := startWriting(t, writingOptions{wrap: func(w Writer) Writer { return acknowledging{w} }})
	const bad, good = "{}\n", `{"id":"a","text":"zebra"}` + "\n"
	for what, c := range map[string]struct {
		body, kind, code string
		most             int // bytes of the answer
	}{
		"nothing but bad lines":  {strings.Repeat(bad, 1_000_000), schema.TypeLines, "too_many_rejected", 4 << 20},
		"bad ones behind a good": {good + strings.Repeat(bad, 1_000_000), schema.TypeLines, "too_many_rejected", 4 << 20},
		"a list of bad ones": {
			"[" + strings.Repeat("{},", 100_000) + "{}]", schema.TypeJSON, "too_many_rejected", 4 << 20,
		},
		"one good of a hundred": {strings.Repeat(strings.Repeat(bad, 99)+good, 10_000), schema.TypeLines, "answer_too_large",
			18 << 20},
		"one good of a few": {strings.Repeat(strings.Repeat(bad, 99)+good, 300), schema.TypeLines, "", 18 << 20},
	} {
		body := packed(t, c.body)
		request, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/v1/passages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", c.kind)
		request.Header.Set("Content-Encoding", "gzip")
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		provoked(answer)
		code := ""
		if _, last := parseAnswer(t, answer); last != nil {
			code = last.Code
		}
		if err != nil || code != c.code || len(answer) > c.most {
			t.Errorf("%s: %d bytes sent, %d answered, ended by %q, %v", what, len(body), len(answer), code, err)
		}
	}
}

// acknowledging stores nothing, and acknowledges everything at once.
type acknowledging struct{ Writer }

func (acknowledging) Apply(_ context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	out := make([]store.ChangeResult, len(changes))
	for i, c := range changes {
		out[i] = store.ChangeResult{ID: c.Put.ID, Outcome: store.Unchanged, Version: "v"}
	}
	return out, nil
}

// lasting stores slowly, and counts.
type lasting struct {
	Writer
	stored chan<- int
}

func (l lasting) Apply(_ context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	time.Sleep(50 * time.Millisecond)
	l.stored <- len(changes)
	return acknowledging{}.Apply(context.Background(), changes)
}

// TestUploadEndsWithItsClient: all of a body has come before its client leaves. What of it
// was not stored by then is not, with either protocol. A client that only closes its half
// of the connection is answered whole.
func TestUploadEndsWithItsClient(t *testing.T) {
	body := packed(t, strings.Repeat(`{"id":"a","text":"zebra"}`+"\n", 100_000))
	head := fmt.Sprintf(
		"POST /v1/passages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		len(body),
	)
	for what, leave := range map[string]func(address string, stored <-chan int) (answer string){
		"leaves": func(address string, stored <-chan int) string {
			c, err := net.Dial("tcp", address)
			if err != nil {
				return err.Error()
			}
			_, _ = io.WriteString(c, head+body)
			<-stored
			_ = c.Close()
			return ""
		},
		"leaves, with HTTP/2": func(address string, stored <-chan int) string {
			var protocols http.Protocols
			protocols.SetUnencryptedHTTP2(true)
			transport := &http.Transport{Protocols: &protocols}
			defer transport.CloseIdleConnections()
			ctx, cancel := context.WithCancel(t.Context())
			request, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/passages",
				strings.NewReader(body))
			request.Header.Set("Content-Type", schema.TypeLines)
			request.Header.Set("Content-Encoding", "gzip")
			go func() {
				<-stored
				cancel()
			}()
			if response, err := transport.RoundTrip(request); err == nil {
				_ = response.Body.Close()
				return response.Status
			}
			return ""
		},
		"closes its half": func(address string, stored <-chan int) string {
			c, err := net.Dial("tcp", address)
			if err != nil {
				return err.Error()
			}
			defer func() { _ = c.Close() }()
			_, _ = io.WriteString(c, head+body)
			<-stored
			_ = c.(*net.TCPConn).CloseWrite()
			answer, err := io.ReadAll(c)
			if err != nil || strings.Count(string(answer), `"status":"unchanged"`) != 100_000 {
				return fmt.Sprintf("%d lines, %v, %.300s", strings.Count(string(answer), "\n"), err, answer)
			}
			return ""
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			stored := make(chan int, 1000)
			s := startWriting(
				t,
				writingOptions{
					wrap: func(w Writer) Writer { return lasting{w, stored} },
					timeouts: []ServeOptions{
						{ReadTimeout: time.Minute, WriteTimeout: time.Minute, DrainTimeout: time.Minute},
					},
				},
			)
			if answer := leave(s.address, stored); answer != "" {
				t.Error(answer)
			}
			s.untilIdle()
			sum := 0
			for len(stored) > 0 {
				sum += <-stored
			}
			if all := sum > 90_000; all != (what == "closes its half") {
				t.Errorf("%d lines were stored", sum)
			}
		})
	}
}
