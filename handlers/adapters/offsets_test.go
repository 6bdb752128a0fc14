package adapters_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/search/reply"
)

const wide = `{"id":"w","title":"Žluť 🦊","text":"😀 naïve 東京: the old fox 🦊 hid the moon, é!"}
{"id":"x","title":"x","text":"🌧 rain and rice on the moon"}
`

// cutBy returns a text from start to end, as a language with these offsets cuts it.
func cutBy(text, offsets string, start, end int) string {
	switch offsets {
	case reply.OffsetCodePoints:
		return string([]rune(text)[start:end])
	case reply.OffsetUTF16:
		return string(utf16.Decode(utf16.Encode([]rune(text))[start:end]))
	}
	return text[start:end]
}

// TestOffsetsThroughAllDoors: the words of answers and highlights are where they are said
// to be, whichever way a search came in.
func TestOffsetsThroughAllDoors(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Passages: wide, Change: realclients.Marker(t)})
	const asked = "who hid the moon"
	session := connect(t, s)
	want := map[string]string{} // how many answers and highlights there are, by door
	for _, offsets := range []string{"", reply.OffsetBytes, reply.OffsetCodePoints, reply.OffsetUTF16} {
		request := object{
			"question": asked,
			"k":        2,
			"fields":   []string{"title", "text", "highlights"},
			"answer":   object{"min_chance": 0},
		}
		query := url.Values{"q": {asked}, "k": {"2"}, "fields": {"title,text,highlights"}, "answer": {"true"}}
		tool := object{"query": asked}
		if offsets != "" {
			request["offsets"], tool["offsets"] = offsets, offsets
			query.Set("offsets", offsets)
		}
		answers := map[string]reply.Response{}
		var one reply.Response
		s.ask(http.MethodPost, "/v1/search", request, &one)
		answers["POST"] = one
		var got reply.Response
		s.ask(http.MethodGet, "/v1/search?"+query.Encode(), nil, &got)
		answers["GET"] = got
		var batch struct{ Answers []reply.Response }
		s.ask(http.MethodPost, "/v1/search/batch", object{"searches": []any{request}}, &batch)
		answers["batch"] = batch.Answers[0]
		answers["stream"] = s.streamed(t, request)
		for door, answer := range answers {
			if said := answer.Offsets; said != offsets && !(said == "" && offsets == reply.OffsetBytes) {
				t.Errorf("%s, %q: it says %q", door, offsets, said)
			}
			texts := map[string]string{}
			places := 0
			for _, r := range answer.Results {
				texts[r.ID] = r.Text
				for _, h := range r.Highlights {
					text := r.Text
					if h.Field == "title" {
						text = r.Title
					}
					word := cutBy(text, offsets, h.Start, h.End)
					if strings.ContainsAny(word, " ,:") || !strings.Contains(text, word) {
						t.Errorf("%s, %q: the word %q is highlighted in %q", door, offsets, word, text)
					}
					places++
				}
			}
			if len(answer.Answers) == 0 && door != "GET" || places == 0 {
				t.Fatalf("%s, %q: %+v", door, offsets, answer)
			}
			for _, a := range answer.Answers {
				if words := cutBy(texts[a.Passage], offsets, a.Start, a.End); words != a.Text {
					t.Errorf("%s, %q: %q is said to be %q", door, offsets, words, a.Text)
				}
			}
			all, _ := json.Marshal([]any{len(answer.Answers), places})
			if want[door] == "" {
				want[door] = string(all)
			} else if want[door] != string(all) {
				t.Errorf("%s, %q: %s, want %s", door, offsets, all, want[door])
			}
		}
		var told found
		call(t, session, "search", tool, &told)
		for _, a := range told.Answers {
			var passage struct{ Text string }
			s.ask(http.MethodGet, "/v1/passages/"+a.Passage, nil, &passage)
			if words := cutBy(passage.Text, offsets, a.Start, a.End); words != a.Text {
				t.Errorf("MCP, %q: %q is said to be %q", offsets, words, a.Text)
			}
		}
	}
}

// streamed returns the answer of a search that is sent as events.
func (s *site) streamed(t *testing.T, body any) (out reply.Response) {
	t.Helper()
	request, err := http.NewRequestWithContext(
		t.Context(), http.MethodPost, s.url+"/v1/search", strings.NewReader(text(t, body)),
	)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, last, found := strings.Cut(string(all), "event: response\ndata: ")
	line, _, _ := strings.Cut(last, "\n")
	if err := json.Unmarshal([]byte(line), &out); err != nil || !found {
		t.Fatalf("%v: %s", err, all)
	}
	return out
}
