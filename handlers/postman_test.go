package handlers

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/handlers/schema"
)

// postmanItem is a request of a Postman collection, or a folder of them.
type postmanItem struct {
	Item    []postmanItem
	Request struct {
		Method string
		URL    struct{ Raw string }
	}
}

// TestPostmanHasTheRoutes: the collection of docs/postman has a request for each operation of the
// document, and none for what the document does not have.
func TestPostmanHasTheRoutes(t *testing.T) {
	text, err := os.ReadFile("../docs/postman/conclave.postman_collection.json")
	if err != nil {
		t.Fatal(err)
	}
	var collection postmanItem
	if err := json.Unmarshal(text, &collection); err != nil {
		t.Fatal(err)
	}
	// Who runs the collection twice in a row can neither add nor remove an expert, nor send a zip, nor cancel
	// a job that has ended, nor calibrate with one judgment; what other requests do to another path is not repeated.
	sent := []string{"addExpert", "removeExpert", "uploadDocuments", "cancelJob", "openapiYAML", "openAIAmendFile",
		"openAIDeleteStoreFile", "cohereRerankFormerly", "calibrate", "evaluate"}
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\{\{\w+\}\}`)
	var walk func(items []postmanItem)
	walk = func(items []postmanItem) {
		for _, x := range items {
			walk(x.Item)
			if x.Request.Method == "" {
				continue
			}
			path, _, _ := strings.Cut(strings.TrimPrefix(x.Request.URL.Raw, "{{baseUrl}}"), "?")
			_, op := c.operation(x.Request.Method, variable.ReplaceAllString(path, "x"))
			if op == nil {
				t.Errorf("the document has no %s %s", x.Request.Method, path)
				continue
			}
			sent = append(sent, op["operationId"].(string))
		}
	}
	walk(collection.Item)
	for id, o := range schema.APIDocument().Operations {
		if !slices.Contains(sent, id) {
			t.Errorf("the collection has no request for %s %s (%s)", o.Method, o.Path, id)
		}
	}
}
