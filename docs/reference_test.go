package docs

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/handlers/schema"
)

// update makes the tests of generated pages write these pages instead of comparing them.
var update = flag.Bool("update", false, "write errors.md and configuration.md anew")

// checkPage fails the test unless the page has the text. With -update it writes the page.
func checkPage(t *testing.T, page, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != text {
		t.Errorf("%s is not up to date (%v): go test ./docs -update", page, err)
	}
}

// commandMessages is the section of errors.md on what commands print, with ~ in place of each backtick.
const commandMessages = `
## Messages of the commands

A command that fails prints what was wrong and, below, what to do. The most frequent:

| message | meaning | what to do |
| --- | --- | --- |
| the id … is taken by a passage of … | You indexed this folder or file before, or two files have the same ids | For documents ~--sync~, for passages ~--replace~; for other files ~--id-prefix TEXT~ before their --in. |
| another process writes to the collection … | A server or an index has it open | Index through the server: ~conclave index --url ADDRESS --in FOLDER --sync~; or wait for the process to end. |
| … holds no collection | There is none in this folder | Name it with ~--collection~, or make it: ~conclave index --collection FOLDER --in FILE~. |
| it has format …, this program reads format … | Another version made it | Use that version, or index again under another name. |
| refusing to listen on … without keys | Everybody who reaches that address could use the server | Configure ~auth.keys~, or listen on 127.0.0.1. |
| 404 unknown_collection: There is no collection "default" | The server has several collections, and ~--url~ names none | ~--url ADDRESS/v1/collections/NAME~. |
| the collection lacks … passages that the questions name | ~positive_ids~ of your questions are not ids of this collection | Take the ids that conclave search prints. |
| no node of the cluster answers | OpenSearch is not reached | Check addresses, certificates and user ([A cluster](cluster.md#set-up)). |
`

// TestErrorsPage: errors.md lists every error code of the API with its remedy.
func TestErrorsPage(t *testing.T) {
	var document struct {
		Problems []struct {
			Code, Title, Remedy string
			Status              int
			RetryAfter          int `json:"retry_after"`
		} `json:"x-problems"`
	}
	if err := json.Unmarshal(schema.APIDocument().JSON, &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Problems) < 80 {
		t.Fatalf("%d codes", len(document.Problems))
	}
	var page strings.Builder
	page.WriteString(`# Errors

Every error of the API is ` + "`application/problem+json`" + `: look up its ` + "`code`" + ` here. The code is stable and meant for
programs; ` + "`detail`" + ` says what was wrong, with which value, and what is allowed.

` + "```json" + `
{"type": "/docs#problem-empty_question", "title": "The question is empty", "status": 400,
 "detail": "The question is empty.", "code": "empty_question", "request_id": "f6bb3afd8d0f2e1a5d0c0d31b0a58a9d",
 "errors": [{"pointer": "/question", "detail": "the question is empty"}]}
` + "```" + `

` + "`errors`" + ` points at the parts of the request, and ` + "`request_id`" + ` finds it in the server's log. The
[clients](clients.md) send a request again after 429 and 503. A program of your own should wait for ` + "`Retry-After`" + `
and do the same; repeating any other request changes nothing. [Messages of the commands](#messages-of-the-commands) stand
at the end of this page.
`)
	status := 0
	for _, p := range document.Problems {
		if p.Status != status {
			fmt.Fprintf(&page, "\n## %d\n\n| code | meaning | what to do |\n| --- | --- | --- |\n", p.Status)
			status = p.Status
		}
		if p.Remedy == "" || !strings.HasSuffix(p.Remedy, ".") {
			t.Errorf("openapi.yaml does not say what to do about %s", p.Code)
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", p.Code, p.Title, p.Remedy)
	}
	page.WriteString(strings.ReplaceAll(commandMessages, "~", "`"))
	checkPage(t, "errors.md", page.String())
}

// TestConfigurationPage: configuration.md lists every key of configs/conclave.yaml with its default and its comment.
func TestConfigurationPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "configs", "conclave.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, "configuration.md", configurationPage(string(text)))
}
