package adapters_test

import (
	"net/http"
	"net/url"
	"testing"

	"example.org/conclave/internal/testing/realclients"
)

// ofDocuments are passages of two documents, one of which is from the web, and of none.
const ofDocuments = `{"id":"shop/mill.pdf#2","title":"Mill › Care","text":"Brush the burrs of the mill once a week.","metadata":{"document":"shop/mill.pdf","document_title":"Mill","heading":"Mill › Care","page":4,"begin":90,"end":130}}
{"id":"tea#1","title":"Tea","text":"Green tea is brewed below the boiling point.","metadata":{"document":"tea","document_source":"https://tea.example/brewing","begin":0,"end":44}}
{"id":"lamp","title":"Lamp","text":"The keeper hid the lamp under his coat.","metadata":{"page":7}}
`

// TestPlaces: each interface says of which document a passage is, and where it stands.
func TestPlaces(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Passages: ofDocuments})
	const about = "how often are the burrs of the mill brushed"
	want := map[string]object{
		"shop/mill.pdf#2": {"document": "shop/mill.pdf", "source": "shop/mill.pdf", "heading": "Mill › Care", "page": 4.0},
		"tea#1":           {"document": "tea", "source": "https://tea.example/brewing", "heading": nil, "page": nil},
		"lamp":            {"document": nil, "source": nil, "heading": nil, "page": nil},
	}
	addresses := map[string]string{
		"shop/mill.pdf#2": s.url + "/?at=90&document=" + url.QueryEscape("shop/mill.pdf"),
		"tea#1":           "https://tea.example/brewing",
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

	names := map[string]string{"shop/mill.pdf#2": "mill.pdf", "tea#1": "brewing", "lamp": "Lamp"}
	called := map[string]string{"shop/mill.pdf#2": "Mill", "tea#1": "tea"}
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
