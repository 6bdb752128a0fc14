package realclients

import (
	"encoding/json"
	"strings"
	"testing"
)

// asked is what a client printed of an answer.
type asked struct {
	ID     string
	Status int
}

func check(t *testing.T, printed string, want asked) {
	t.Helper()
	var got asked
	if err := json.Unmarshal([]byte(printed), &got); err != nil || got != want {
		t.Errorf("%q, %v, want %+v", printed, err, want)
	}
}

// TestPython asks a server with httpx, through the environment of the lock.
func TestPython(t *testing.T) {
	python := Python(t)
	url := Server(t, ServerOptions{})
	check(t, Run(t, Command{Interpreter: python, Args: []string{"-c", `
import httpx, json, sys
a = httpx.get(sys.argv[1] + "/v1/search", params={"q": "who hid the lamp", "k": 1})
print(json.dumps({"id": a.json()["results"][0]["id"], "status": a.status_code}))`, url}}), asked{"lamps/1", 200})
}

// TestNode asks a server with undici, through the modules of the lock.
func TestNode(t *testing.T) {
	node, _ := Node(t)
	url := Server(t, ServerOptions{})
	check(t, Run(t, Command{Interpreter: node, Args: []string{"-e", `
require("undici").request(process.argv[1] + "/v1/search?k=1&q=who+hid+the+lamp").then(async a =>
  console.log(JSON.stringify({id: (await a.body.json()).results[0].id, status: a.statusCode})))`, url}}), asked{"lamps/1", 200})
}

// TestRealServer: the shipped encoders find by meaning what has no word in common,
// with a confidence.
func TestRealServer(t *testing.T) {
	python := Python(t)
	url := Server(t, ServerOptions{Real: true, Passages: Enough(t)})
	printed := Run(t, Command{Interpreter: python, Args: []string{"-c", `
import httpx, sys
a = httpx.get(sys.argv[1] + "/v1/search", params={"q": "how long can leftovers be refrigerated", "k": 1}).json()
print(a["results"][0]["id"], a["confidence_basis"])`, url}})
	if strings.TrimSpace(printed) != "rice shipped" {
		t.Errorf("%q", printed)
	}
}
