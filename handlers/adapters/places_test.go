package adapters_test

import (
	"net/http"
	"net/url"
	"testing"

	"example.org/conclave/internal/testing/realclients"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ofDocuments are passages of two documents, one of which is from the web, and of none.
const ofDocuments = `{"id":"shop/mill.pdf#2","title":"Mill › Care","text":"Brush the burrs of the mill once a week.","metadata":{"document":"shop/mill.pdf","document_title":"Mill","heading":"Mill › Care","page":4,"begin":90,"end":130}}
{"id":"tea#1","title":"Tea","text":"Green tea is brewed below the boiling point.","metadata":{"document":"tea","document_source":"https://tea.example/brewing","begin":0,"end":44}}
{"id":"shop/guide.md#1","title":"Guide","text":"One two three.","metadata":{"document":"shop/guide.md","begin":7,"end":21,"text_before":"Guide\n\n"}}
{"id":"shop/guide.md#2","title":"Guide","text":"A lead.\nFour five six.","metadata":{"document":"shop/guide.md","begin":29,"end":43,"text_before":"\n\nHead\n\n","text_after":"\n\nThe end."}}
{"id":"lamp","title":"Lamp","text":"The keeper hid the lamp under his coat.","metadata":{"page":7}}
`

// TestPlaces: each interface says of which document a passage is, and where it stands.
func TestPlaces(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Passages: ofDocuments})
	const about = "how often are the burrs of the mill brushed"
	want := map[string]object{
		"shop/mill.pdf#2": {"document": "shop/mill.pdf", "source": "shop/mill.pdf", "heading": "Mill › Care", "page": 4.0},
		"tea#1":           {"document": "tea", "source": "https://tea.example/brewing", "heading": nil, "page": nil},
		"shop/guide.md#1": {"document": "shop/guide.md", "source": "shop/guide.md", "heading": nil, "page": nil},
		"shop/guide.md#2": {"document": "shop/guide.md", "source": "shop/guide.md", "heading": nil, "page": nil},
		"lamp":            {"document": nil, "source": nil, "heading": nil, "page": nil},
	}
	addresses := map[string]string{
		"shop/mill.pdf#2": s.url + "/?at=90&document=" + url.QueryEscape("shop/mill.pdf"),
		"tea#1":           "https://tea.example/brewing",
		"shop/guide.md#1": s.url + "/?at=7&document=" + url.QueryEscape("shop/guide.md"),
		"shop/guide.md#2": s.url + "/?at=29&document=" + url.QueryEscape("shop/guide.md"),
		"lamp":            s.url + "/v1/passages/lamp",
	}
	same := func(where, id string, got object, absent bool) {
		t.Helper()
		for key, value := range want[id] {
			if got[key] != value && (absent || id != "lamp" || key != "page") {
				t.Errorf("%s, %s: %s is %v, want %v", where, id, key, got[key], value)
			}
		}
	}

	session := connect(t, s)
	var tool struct{ Results []object }
	call(t, session, "search", object{"query": about, "offsets": "utf16"}, &tool)
	if len(tool.Results) != len(want) {
		t.Fatalf("%+v", tool)
	}
	for _, x := range tool.Results {
		id := x["id"].(string)
		same("search", id, x, true)
		var fetched object
		call(t, session, "fetch", object{"id": id}, &fetched)
		same("fetch", id, fetched, true)
		for _, got := range []object{x, fetched} {
			if got["url"] != addresses[id] {
				t.Errorf("%s is at %v, want %s", id, got["url"], addresses[id])
			}
		}
	}

	var document object
	call(t, session, "fetch", object{"id": "shop/guide.md"}, &document)
	if document["text"] != "Guide\n\nOne two three.\n\nHead\n\nFour five six.\n\nThe end." ||
		document["url"] != s.url+"/?document="+url.QueryEscape("shop/guide.md") || document["next"] != nil {
		t.Errorf("%v", document)
	}
	call(t, session, "fetch", object{"id": "shop/guide.md", "from": 2}, &document)
	if document["text"] != "A lead.\nFour five six.\n\nThe end." {
		t.Errorf("%v", document)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "fetch", Arguments: object{"id": "nothing"}})
	if err != nil || !result.IsError {
		t.Errorf("%+v, %v", result, err)
	}

	names := map[string]string{"shop/mill.pdf#2": "mill.pdf", "tea#1": "brewing", "lamp": "Lamp", "shop/guide.md#1": "guide.md"}
	names["shop/guide.md#2"] = "guide.md"
	called := map[string]string{"shop/mill.pdf#2": "Mill", "tea#1": "tea", "shop/guide.md#1": "shop/guide.md"}
	called["shop/guide.md#2"] = "shop/guide.md"
	var page struct {
		Data []struct {
			FileID     string `json:"file_id"`
			Filename   string
			Attributes object
		}
	}
	s.ask(http.MethodPost, "/v1/vector_stores/c/search", object{"query": about}, &page)
	if len(page.Data) != len(want) {
		t.Fatalf("%+v", page)
	}
	for _, x := range page.Data {
		same("vector store", x.FileID, x.Attributes, false)
		name, _ := x.Attributes["document_name"].(string)
		if x.Filename != names[x.FileID] || name != called[x.FileID] {
			t.Errorf("%+v", x)
		}
	}

	s.ask(http.MethodPost, "/v1/vector_stores/c/search", object{
		"query": about, "filters": object{"type": "in", "key": "document", "value": []string{"tea", "shop/mill.pdf"}},
	}, &page)
	if len(page.Data) != 2 {
		t.Errorf("of two documents: %+v", page)
	}
	var one struct{ Results, Records []object }
	call(t, session, "search", object{"query": about, "documents": []string{"shop/guide.md"}, "around": 1}, &one)
	if len(one.Results) != 2 {
		t.Errorf("of one document: %+v", one)
	}
	for _, x := range one.Results {
		if x["id"] == "shop/guide.md#1" && x["after"] != "Head\n\nFour five six." {
			t.Errorf("%+v", x)
		}
	}
	s.ask(http.MethodPost, "/retrieval", object{"knowledge_id": "c", "query": about, "metadata_condition": object{
		"conditions": []object{{"name": []string{"document"}, "comparison_operator": "is", "value": "tea"}},
	}}, &one)
	if len(one.Records) != 1 {
		t.Errorf("of one document: %+v", one)
	}

	var records struct{ Records []struct{ Metadata object } }
	s.ask(http.MethodPost, "/retrieval", object{"knowledge_id": "c", "query": about}, &records)
	if len(records.Records) != len(want) {
		t.Fatalf("%+v", records)
	}
	for _, x := range records.Records {
		id := x.Metadata["id"].(string)
		same("Dify", id, x.Metadata, false)
		if name, _ := x.Metadata["document_name"].(string); name != called[id] {
			t.Errorf("%+v", x)
		}
	}
}
