package adapters_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
)

// completed is a chat completion, as a client reads it.
type completed struct {
	Notes   []string
	Choices []struct {
		Message struct {
			Content     string
			Annotations []struct {
				Type     string
				Citation struct {
					Start int `json:"start_index"`
					End   int `json:"end_index"`
					Title string
					URL   string
				} `json:"url_citation"`
			}
		}
		Delta struct {
			Content string
		}
		FinishReason string `json:"finish_reason"`
	}
	Error *struct{ Message, Code string }
}

// chat asks for a completion.
func (s *site) chat(body object) (text string, out completed) {
	s.t.Helper()
	s.ask(http.MethodPost, "/v1/chat/completions", body, &out)
	if len(out.Choices) != 1 {
		s.t.Fatalf("%+v", out)
	}
	return out.Choices[0].Message.Content, out
}

// streamed asks for a completion in pieces.
func (s *site) chatStreamed(body object) (pieces []string, last completed) {
	s.t.Helper()
	body["stream"] = true
	status, answer := s.send(http.MethodPost, "/v1/chat/completions", body)
	delete(body, "stream")
	events := strings.Split(strings.TrimSpace(string(answer)), "\n\n")
	if status != http.StatusOK || events[len(events)-1] != "data: [DONE]" {
		s.t.Fatalf("%d: %s", status, answer)
	}
	for _, e := range events[:len(events)-1] {
		last = completed{}
		if err := json.NewDecoder(bytes.NewReader([]byte(strings.TrimPrefix(e, "data: ")))).Decode(&last); err != nil {
			s.t.Fatalf("%v: %s", err, e)
		}
		if len(last.Choices) > 0 && last.Choices[0].Delta.Content != "" {
			pieces = append(pieces, last.Choices[0].Delta.Content)
		}
	}
	return pieces, last
}

// TestChat: a conversation is answered by the generator, with what it cites as text and as annotations,
// and what no passage supports marked; the same streamed. Without an answer of it the passages come.
func TestChat(t *testing.T) {
	model := realclients.NewModel(t)
	s := written(t, model, time.Minute)
	body := object{"model": "conclave", "temperature": 0.7, "messages": []object{
		{"role": "system", "content": "You are a pirate."},
		{"role": "user", "content": []object{{"type": "text", "text": whereIsTheLamp}}},
	}}
	pieces := []string{"The keeper of the", " lighthouse hid the lamp [1].", " He lives in Oslo [1]."}
	const want = "The keeper of the lighthouse hid the lamp [1]. He lives in Oslo [1]. (not in the passages that are cited)" +
		"\n\nSources:\n- [1] Lamps\n"
	for _, name := range []string{"conclave", "local"} {
		body["model"] = name
		model.Say(pieces...)
		text, out := s.chat(body)
		if text != want || out.Choices[0].FinishReason != "stop" {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
		notes := out.Choices[0].Message.Annotations
		if len(notes) != 2 || notes[0].Citation.Title != "Lamps" ||
			notes[0].Citation.URL != s.url+"/v1/passages/lamps%2F1" ||
			string([]rune(text)[notes[0].Citation.Start:notes[0].Citation.End]) != "[1]" {
			t.Errorf("%+v", notes)
		}
	}
	model.Say(pieces...)
	told, last := s.chatStreamed(body)
	if got := strings.Join(told, ""); got != want || len(told) < 4 || told[0] != pieces[0]+pieces[1] ||
		last.Choices[0].FinishReason != "stop" {
		t.Errorf("%q, last %+v", told, last)
	}
	// Fields that nobody here knows have no effect, and are named.
	model.Say(pieces...)
	body["frobnicate"] = 1
	if _, out := s.chat(body); !strings.Contains(strings.Join(out.Notes, "\n"), "frobnicate") {
		t.Errorf("notes %q", out.Notes)
	}
	delete(body, "frobnicate")
	// A follow-up comes with what was asked before.
	model.Say("NOT ANSWERED")
	text, _ := s.chat(object{"model": "local", "messages": []object{
		{"role": "user", "content": "Tell me of the lighthouse."}, {"role": "assistant", "content": "It is high."},
		{"role": "user", "content": "who kept it?"}}})
	if asked := model.Asked(); text != "I find no answer to this in c." ||
		!strings.Contains(asked[0], "- Tell me of the lighthouse.\nQuestion: who kept it?") {
		t.Errorf("%q, asked %q", text, asked)
	}
	model.Serve(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) })
	if text, _ := s.chat(body); !strings.Contains(text, "> The keeper of the lighthouse hid the lamp under his coat. [") ||
		!strings.Contains(text, "comes closest in c:") {
		t.Errorf("without the generator: %q", text)
	}
}

// TestChatLeavesOut: a word with - before it is in no passage that answers, and a note says so; a list of a message
// with several lines is none.
func TestChatLeavesOut(t *testing.T) {
	s := written(t, realclients.NewModel(t), time.Minute)
	ask := func(message string) completed {
		t.Helper()
		_, out := s.chat(object{"model": "conclave", "messages": []object{{"role": "user", "content": message}}})
		return out
	}
	const note = "passages with lighthouse are left out"
	got := ask(whereIsTheLamp + " -lighthouse")
	if notes := strings.Join(got.Notes, " "); !strings.Contains(notes, note) ||
		strings.Contains(got.Choices[0].Message.Content, "keeper of the lighthouse") {
		t.Errorf("notes %q, answer %q", notes, got.Choices[0].Message.Content)
	}
	for _, message := range []string{whereIsTheLamp, "my list:\n-lighthouse\n" + whereIsTheLamp} {
		got := ask(message)
		if notes := strings.Join(got.Notes, " "); strings.Contains(notes, note) ||
			!strings.Contains(got.Choices[0].Message.Content, "keeper") {
			t.Errorf("%q: notes %q, answer %q", message, notes, got.Choices[0].Message.Content)
		}
	}
}

// TestChatWithoutGenerator: the words that the reader marks are the answer, with their passage and its
// place.
func TestChatWithoutGenerator(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Real: true, Passages: firstTales(t)})
	asked := func(question string) []object { return []object{{"role": "user", "content": question}} }
	body := object{"model": "conclave", "messages": asked("why did the fox hide the moon?")}
	text, out := s.chat(body)
	if !strings.Contains(text, "in love with her own reflection") || !strings.Contains(text, "[1]") ||
		!strings.Contains(text, "\n\nSources:\n- [") || len(out.Choices[0].Message.Annotations) == 0 {
		t.Errorf("%q, %+v", text, out)
	}
	pieces, _ := s.chatStreamed(body)
	if got := strings.Join(pieces, ""); got != text {
		t.Errorf("streamed %q, want %q", got, text)
	}
	body["messages"] = asked("which GPU driver does CUDA 12 need on Windows Server?")
	if text, out := s.chat(body); text != "I find no answer to this in c." || len(out.Choices[0].Message.Annotations) > 0 {
		t.Errorf("%q", text)
	}
}

// TestReaderComesFirst: if no passage supports what a generator writes, or it finds no answer, the words that the
// reader marks come first, in one piece and streamed; if one does, they do not come.
func TestReaderComesFirst(t *testing.T) {
	model := realclients.NewModel(t)
	s := serve(t, realclients.ServerOptions{Real: true, Passages: firstTales(t), Change: func(c *configs.Config) {
		c.Generators = []configs.Generator{{Name: "local", Address: model.URL, Model: "scripted", Timeout: time.Minute}}
	}})
	body := object{"model": "conclave", "messages": []object{{"role": "user", "content": "What was wrong with the loaves after Maresh had lost her shadow?"}}}
	const marked = "**the bread had no taste**" // in its sentence
	for wrote, want := range map[string]struct {
		first bool
		last  string
	}{
		"A badger stole the cheese in Geneva [2].": {
			true, "\n\nA model wrote this, which no passage supports:\n\nA badger stole the cheese in Geneva .\n\nSources:\n- [1]",
		},
		"NOT ANSWERED":                {true, "\n\nSources:\n- [1]"},
		"I do not know.":              {true, "\n\nSources:\n- [1]"},
		"The bread had no taste [1].": {false, "The bread had no taste [1].\n\nSources:\n- [1]"},
	} {
		model.Say(wrote)
		text, _ := s.chat(body)
		first := strings.HasPrefix(text, "> ") && strings.Contains(text, marked)
		if first != want.first || !strings.Contains(text, want.last) {
			t.Errorf("%q: %q", wrote, text)
		}
		model.Say(wrote)
		if pieces, _ := s.chatStreamed(body); strings.Join(pieces, "") != text {
			t.Errorf("%q: streamed %q, want %q", wrote, pieces, text)
		}
	}
}

// TestChatLinks: of what a model writes nothing becomes a link or an image but the address of a passage that was found,
// in one piece and streamed.
func TestChatLinks(t *testing.T) {
	model := realclients.NewModel(t)
	s := written(t, model, time.Minute)
	body := object{"model": "local", "messages": []object{{"role": "user", "content": whereIsTheLamp}}}
	own := s.url + "/v1/passages/lamps%2F1"
	pieces := []string{"The keeper of the lighthouse hid the [lamp](" + own + ") [1]. ![p", "](ht", "tp://evil.example/?q=lamp) ",
		"[x](javascript:alert(1)) <img src=y>"}
	const want = `[lamp](OWN) [1]. ![p] (http: //evil.example/?q=lamp) [x] (javascript:alert(1)) < img src=y>`
	model.Say(pieces...)
	text, _ := s.chat(body)
	model.Say(pieces...)
	told, _ := s.chatStreamed(body)
	for _, got := range []string{text, strings.Join(told, "")} {
		shown := strings.ReplaceAll(got, own, "OWN")
		for _, mark := range []string{" (no source)", " (not in the passages that are cited)"} {
			shown = strings.ReplaceAll(shown, mark, "")
		}
		if !strings.Contains(shown, want) {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestChatLinksOfPassages: passages that are shown make no links and images either, in the tool that answers too.
func TestChatLinksOfPassages(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Passages: `{"id":"p","title":"![t](http://evil.example/t)",` +
		`"text":"The lamp ![p](http://evil.example/?q=lamp) [x](javascript:alert(1)) hides."}` + "\n"})
	text, _ := s.chat(object{"model": "conclave", "messages": []object{{"role": "user", "content": "lamp"}}})
	if strings.Contains(text, "](") || strings.Contains(text, "http://") || !strings.Contains(text, "evil.example/t") {
		t.Errorf("%q", text)
	}
	_, answer := s.post(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"answer","arguments":{"query":"lamp"}}}`, nil)
	var called struct {
		Result struct {
			StructuredContent struct{ Text string }
		}
	}
	if err := json.Unmarshal(answer, &called); err != nil || called.Result.StructuredContent.Text == "" ||
		strings.Contains(called.Result.StructuredContent.Text, "](") {
		t.Errorf("the tool: %v %s", err, answer)
	}
}
