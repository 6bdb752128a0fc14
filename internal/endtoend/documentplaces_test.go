package endtoend

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"
)

// manual is a document of several sections, with letters of two to four bytes, and a table
// whose header is put before the rows of later passages.
const manual = "# Kaffeemühle 🦊\n\nA mill grinds beans. It is “naïve” and red.\n\n" +
	"## Cleaning\n\nBrush the burrs once a week. Never wash the burrs with water, since the steel rusts.\n\n" +
	"## Spare parts 🔧\n\n| part | price |\n| --- | --- |\n| burr set für Mühle | twelve |\n" +
	"| hopper with lid | nine |\n| red knob 🔴 | two |\n\n## Warranty\n\nThe warranty lasts for two years from the day of sale.\n"

// cutDocument reads and cuts a Markdown file, as conclave index does.
func cutDocument(tb testing.TB, about documents.About, file string, words int) (string, []corpus.Passage) {
	tb.Helper()
	reader := documents.NewExtractor(documents.Limits{
		FileBytes: 1 << 20, UnpackedBytes: 1 << 20, TextBytes: 1 << 20, Blocks: 1 << 12, Time: time.Minute, Depth: 1,
		Members: 10,
	}, nil)
	d, _, err := reader.Read(tb.Context(), documents.Input{Name: about.ID, Data: []byte(file)})
	if err != nil {
		tb.Fatal(err)
	}
	return d.Text, documents.PassagesOf(about, d, []byte(file), words)
}

// jsonLines writes passages as they are uploaded.
func jsonLines(tb testing.TB, passages []corpus.Passage) string {
	tb.Helper()
	var lines strings.Builder
	for _, p := range passages {
		line, err := json.Marshal(p)
		if err != nil {
			tb.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	return lines.String()
}

// postJSON sends a request as JSON and reads the answer.
func postJSON(tb testing.TB, address string, body, into any) {
	tb.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		tb.Fatal(err)
	}
	response, err := http.Post(address, "application/json", bytes.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		tb.Fatalf("%s: %s: %s, %v", text, response.Status, answer, err)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		tb.Fatalf("%v in %s", err, answer)
	}
}

// sliced cuts a text as a program does whose offsets count unit.
func sliced(text, unit string, begin, end int) string {
	switch unit {
	case reply.OffsetCodePoints:
		return string([]rune(text)[begin:end])
	case reply.OffsetUTF16:
		return string(utf16.Decode(utf16.Encode([]rune(text))[begin:end]))
	}
	return text[begin:end]
}

// TestDocumentPlaces: results, what is fused again of them, and answers say which document,
// heading and page they are of, and their offsets cut them out of the document's text,
// whatever the offsets count. Passages of no document say nothing.
func TestDocumentPlaces(t *testing.T) {
	about := documents.About{ID: "shop/mill.md", Source: "https://shop.example/mill"}
	text, passages := cutDocument(t, about, manual, 12)
	if len(passages) < 5 {
		t.Fatalf("%d passages", len(passages))
	}
	plain := corpus.Passage{ID: "plain", Text: "A passage of no document.", Metadata: map[string]any{"page": 7}}
	lines := jsonLines(t, append(passages, plain))
	server := realclients.Server(t, realclients.ServerOptions{Passages: lines, Change: realclients.Marker(t)})
	for _, unit := range reply.OffsetNames() {
		var got reply.Response
		request := map[string]any{
			"question": "who may wash the red burrs of the mill", "k": 20, "offsets": unit, "fusion": "rrf",
			"answer": map[string]any{"passages": 20, "min_chance": 0},
		}
		postJSON(t, server+"/v1/search", request, &got)
		if len(got.Results) != len(passages)+1 || len(got.Answers) == 0 {
			t.Fatalf("%d results, %d answers", len(got.Results), len(got.Answers))
		}
		headings := map[string]string{}
		for _, r := range got.Results {
			headings[r.ID] = r.Heading
			if r.ID == plain.ID {
				if (r.Place != reply.Place{} || r.Extent != reply.Extent{}) {
					t.Errorf("%+v", r)
				}
				continue
			}
			want := reply.DocumentReference{ID: about.ID, Title: "Kaffeemühle 🦊", Source: about.Source}
			if r.Document == nil || *r.Document != want || r.Page != 0 || r.Begin == nil || r.End == nil {
				t.Fatalf("%+v", r)
			}
			if own := sliced(text, unit, *r.Begin, *r.End); own == "" || !strings.HasSuffix(r.Text, own) {
				t.Errorf("%s: %q is at %d to %d, where the document has %q", unit, r.Text, *r.Begin, *r.End, own)
			}
			if i := strings.Index(r.Text, "Never wash"); i >= 0 && !strings.HasSuffix(r.Heading, "Cleaning") {
				t.Errorf("%q below %q", r.Text, r.Heading)
			}
		}
		for _, a := range got.Answers {
			if a.Passage == plain.ID {
				continue
			}
			if a.Document == nil || a.Document.Source != about.Source || a.Heading != headings[a.Passage] {
				t.Errorf("%+v", a)
			}
			if a.At != nil {
				if words := sliced(text, unit, *a.At, *a.At+a.End-a.Start); words != a.Text {
					t.Errorf("%s: %q is at %d, where the document has %q", unit, a.Text, *a.At, words)
				}
			}
		}
		var again search.FuseResponse
		postJSON(t, server+"/v1/fuse", map[string]any{"fusion": "rrf", "candidates": got.Results}, &again)
		for i, r := range again.Results {
			was := got.Results[i]
			if r.ID == was.ID && (r.Heading != was.Heading || (r.Begin == nil) != (was.Begin == nil)) {
				t.Errorf("fused again: %+v, was %+v", r, was)
			}
		}
	}
	var without reply.Response
	postJSON(t, server+"/v1/search", map[string]any{"question": "burrs", "fields": []string{"text"}}, &without)
	if without.Results[0].Document != nil || without.Results[0].Begin != nil {
		t.Errorf("fields without document: %+v", without.Results[0])
	}
	var stored corpus.Passage
	response, err := http.Get(server + "/v1/passages/" + url.PathEscape(passages[1].ID))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&stored); err != nil || stored.Text != passages[1].Text {
		t.Errorf("%+v, %v", stored, err)
	}
}
