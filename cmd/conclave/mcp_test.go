package main

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/testing/testenv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// startTools runs `conclave mcp` as a program that talks to it would, and connects the
// SDK's client. end closes its input, and gives the exit code.
func startTools(t *testing.T, args ...string) (session *mcp.ClientSession, end func() int) {
	t.Helper()
	in, asks := io.Pipe()
	answers, out := io.Pipe()
	complaints := &testenv.Buffer{}
	ended := make(chan int, 1)
	go func() {
		ended <- run(context.Background(), append([]string{"mcp"}, args...), cli.Terminal{In: in, Out: out, Err: complaints})
		_ = out.Close()
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: answers, Writer: asks}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	return session, func() int {
		_ = session.Close()
		_ = asks.Close()
		return <-ended
	}
}

// TestMCP: over standard input and output a collection here and that of a server are
// searched alike, and the program ends with its input.
func TestMCP(t *testing.T) {
	tinyCollection(t, []string{"a"}, "a")
	var server *served
	var answers []string
	for _, args := range [][]string{{"--collection", "c"}, {"--url"}} {
		if args[0] == "--url" { // now, since a process has one runtime
			server = startServer(t)
			args = append(args, server.url)
		}
		session, end := startTools(t, args...)
		listed, err := session.ListTools(t.Context(), nil)
		if err != nil || len(listed.Tools) != 5 {
			t.Fatalf("%v: %+v, %v", args, listed, err)
		}
		result, err := session.CallTool(
			t.Context(), &mcp.CallToolParams{Name: "search", Arguments: map[string]any{"query": "rice"}},
		)
		if err != nil || result.IsError {
			t.Fatalf("%v: %+v, %v", args, result, err)
		}
		var found struct{ Results []struct{ ID, Text string } }
		if err := json.Unmarshal([]byte(result.Content[0].(*mcp.TextContent).Text), &found); err != nil ||
			len(found.Results) != 3 {
			t.Fatalf("%v: %+v, %v", args, found, err)
		}
		text, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, string(text))
		if refused, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "fetch", Arguments: map[string]any{"id": "nothing"}}); err != nil ||
			!refused.IsError {
			t.Errorf("%v: %+v, %v", args, refused, err)
		}
		elsewhere, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "search", Arguments: map[string]any{"query": "rice", "collection": "elsewhere"},
		})
		if err == nil && !elsewhere.IsError {
			t.Errorf("%v: a collection that is not here: %+v, %v", args, elsewhere, err)
		}
		if code := end(); code != cli.ExitOK {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
	if answers[0] != answers[1] {
		t.Errorf("here %s\nthere %s", answers[0], answers[1])
	}
	server.stop()
	for name, args := range map[string][]string{"both": {"--collection", "c", "--url", server.url}, "no address": {"--url", "elsewhere"}} {
		if code, _, complaint := conclave(t, append([]string{"mcp"}, args...)...); code != cli.ExitUsage {
			t.Errorf("%s: %d %s", name, code, complaint)
		}
	}
	if code, _, complaint := conclave(t, "mcp", "--url", server.url); code != cli.ExitFailed {
		t.Errorf("a server that is gone: %d %s", code, complaint)
	}
}
