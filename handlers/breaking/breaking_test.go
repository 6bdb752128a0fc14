package breaking

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAPI compares openapi.yaml with that of the last release. What breaks is a mistake or is meant; then it stands in
// testdata/meant.txt, a line each, and the changelog says it. A release puts its own openapi.yaml in the place of the
// last and empties that list.
func TestAPI(t *testing.T) {
	released, err := filepath.Glob("testdata/openapi-*.yaml")
	if err != nil || len(released) != 1 {
		t.Fatalf("the last release's: %v, %v", released, err)
	}
	older, err := os.ReadFile(released[0])
	if err != nil {
		t.Fatal(err)
	}
	newer, err := os.ReadFile("../schema/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	meant, err := os.ReadFile("testdata/meant.txt")
	if err != nil {
		t.Fatal(err)
	}
	found, err := Breaks(older, newer)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(meant), "\n")
	for _, line := range found {
		if !slices.Contains(lines, line) {
			t.Errorf("callers of %s break: %s", released[0], line)
		}
	}
	for _, line := range lines {
		if line != "" && !strings.HasPrefix(line, "#") && !slices.Contains(found, line) {
			t.Errorf("testdata/meant.txt has %q, which breaks nobody", line)
		}
	}
}

const described = `
paths:
  /a:
    get:
      parameters:
        - {name: q, in: query, required: true, schema: {type: string, enum: [x, y], maxLength: 9}}
        - {name: k, in: query, schema: {type: integer, maximum: 100}}
      responses:
        "200": {content: {application/json: {schema: {$ref: "#/components/schemas/Answer"}}}}
        "404": {description: none}
    post:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Question"}}}}
      responses: {"200": {description: done}}
components:
  schemas:
    Question:
      type: object
      required: [text]
      properties: {text: {type: string}, k: {type: integer}, more: {$ref: "#/components/schemas/Question"}}
    Answer:
      type: object
      required: [score]
      properties: {score: {type: integer}, state: {type: string, enum: [on, off]}}
`

// TestBreaks changes a description in ways that break callers or do not.
func TestBreaks(t *testing.T) {
	for change, want := range map[string]string{
		"enum: [x, y] -> enum: [x, y, z]":                                        "",
		"enum: [x, y] -> enum: [x]":                                              "GET /a query q: the value y is gone",
		"maximum: 100 -> maximum: 1000":                                          "",
		"maximum: 100 -> maximum: 50":                                            "GET /a query k: maximum became 50",
		"name: k, in: query, -> name: k, in: query, required: true,":             "GET /a: the parameter query k is required",
		"name: k, -> name: n,":                                                   "GET /a: the parameter query k is gone",
		"    post: -> put:":                                                      "POST /a is gone",
		`"404": {description: none} -> "429": {description: busy}`:               "",
		`"200": {content -> "201": {content`:                                     "GET /a: the answer 200 is gone",
		"required: [text] -> required: [text, k]":                                "Question: the field k is required",
		"required: [text] -> required: []":                                       "",
		"k: {type: integer}, more -> n: {type: integer}, k: {}, more":            "",
		"k: {type: integer}, more -> k: {type: string}, more":                    "Question.k: integer became string",
		"k: {type: integer}, more -> more":                                       "Question: the field k is gone",
		"score: {type: integer} -> score: {type: integer}, time: {type: string}": "",
		"required: [score] -> required: []":                                      "Answer: the field score may be left out",
		"score: {type: integer} -> points: {type: integer}":                      "Answer: the field score is gone",
		"requestBody: {content -> requestBody: {required: true, content":         "POST /a: a body is required",
	} {
		before, after, _ := strings.Cut(change, " -> ")
		if !strings.Contains(described, before) {
			t.Fatalf("nothing to change: %s", before)
		}
		if strings.HasPrefix(before, "    ") {
			after = "    " + after
		}
		got, err := Breaks([]byte(described), []byte(strings.Replace(described, before, after, 1)))
		if err != nil || strings.Join(got, "; ") != want {
			t.Errorf("%s: %q, %v, not %q", change, got, err, want)
		}
	}
	if got, err := Breaks([]byte(described), []byte(described)); err != nil || len(got) > 0 {
		t.Errorf("the same: %v, %v", got, err)
	}
}
