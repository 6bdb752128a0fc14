package adapters_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
)

// ofMill is ofDocuments with the first passage of the mill's document.
const ofMill = `{"id":"shop/mill.pdf#1","title":"Mill","text":"Brush the burrs of the mill each week.","metadata":{"document":"shop/mill.pdf","document_title":"Mill","heading":"Mill › Use","document_passages":2,"modified":"2026-05-04T03:02:01Z","begin":0,"end":38}}
` + ofDocuments

// TestTalk: thanks, greetings and questions about the collection are answered without a search, by each interface that
// answers, and questions as before.
func TestTalk(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Passages: ofMill})
	const note = "answered from what is known of the collection, without a search"
	// Guide has no title of its own; the lamp is of no document.
	for _, c := range []struct {
		messages []string
		has      []string // of the answer; nil: the message is searched for
	}{
		{[]string{"Hello!"}, []string{"Hello. I answer questions from ", "3 documents with 6 passages", "“Mill”"}},
		{[]string{"what is brewed below the boiling point?", "thanks, that helps"}, []string{"You are welcome."}},
		{[]string{"bye"}, []string{"Goodbye."}},
		{[]string{"ok"}, []string{"I answer questions from "}},
		{[]string{"who are you?"}, []string{"I am a program that answers questions from "}},
		{[]string{"how many documents do you have"}, []string{
			"has 3 documents with 6 passages.", "- shop/guide.md\n", "- Mill (shop/mill.pdf)\n", "- tea\n",
		}},
		{[]string{"what is this about?"}, []string{"3 documents", "- Mill (shop/mill.pdf)"}},
		{[]string{"Hallo, wer sind Sie?"}, []string{"Ich bin ein Programm", "3 Dokumente (6 Passagen)", "„Mill“ und „tea“"}},
		{[]string{"Merci beaucoup !"}, []string{"Je vous en prie."}},
		{[]string{"¿Cuántos documentos hay?"}, []string{"tiene 3 documentos con 6 pasajes.", "- tea\n"}},
		{[]string{"文書は最新ですか？"}, []string{"3 件の文書（6 箇所）", "2026年5月4日"}},
		{[]string{"谢谢！"}, []string{"不客气。"}},
		{[]string{"How old are your documents?"}, []string{"3 documents with 6 passages. All with a date were changed on 4 May 2026."}},
		{[]string{"Summarise mill.pdf, please."}, []string{
			"**Mill (shop/mill.pdf)** has 2 passages and was changed on 4 May 2026. It is about:\n\n- Use\n- Care\n",
			"It begins:\n\n> Brush the burrs of the mill each week.", "[1]", "- [1] Mill",
		}},
		{[]string{"what does the file shop/guide.md say?"}, []string{
			"> Guide One two three. Head Four five six. The end. [1]",
		}},
		{[]string{"what is brewed below the boiling point?", "what is this about?"}, nil},
		{[]string{"what does the boss say about the mill?"}, nil},
		{[]string{"summarise nothing.pdf"}, nil},
		{[]string{"how many burrs are there"}, nil},
	} {
		var messages []object
		for _, m := range c.messages {
			messages = append(messages, object{"role": "user", "content": m})
		}
		text, answer := s.chat(object{"model": "conclave", "messages": messages})
		talks := len(answer.Notes) == 1 && answer.Notes[0] == note
		if talks != (c.has != nil) {
			t.Errorf("%q: notes %q, %q", c.messages, answer.Notes, text)
		}
		for _, part := range c.has {
			if !strings.Contains(text, part) {
				t.Errorf("%q: %q has no %q", c.messages, text, part)
			}
		}
		pieces, _ := s.chatStreamed(object{"model": "conclave", "messages": messages})
		if strings.Join(pieces, "") != text {
			t.Errorf("%q: streamed %q, whole %q", c.messages, pieces, text)
		}
	}

	asked := []object{{"role": "user", "content": "summarise mill.pdf"}}
	_, answer := s.chat(object{"model": "conclave", "messages": asked})
	task := "Write a title.\nJSON format: { \"title\": \"the title\" }\nUSER: What is brewed?\nASSISTANT: Tea."
	text, _ := s.chat(object{"model": "conclave", "messages": []object{{"role": "user", "content": task}}})
	if text != `{"title":"What is brewed"}` {
		t.Errorf("the title is %s", text)
	}
	cited := answer.Choices[0].Message.Annotations
	if len(cited) != 1 || cited[0].Citation.Title != "Mill" ||
		!strings.HasPrefix(cited[0].Citation.URL, s.url+"/?") ||
		!strings.Contains(cited[0].Citation.URL, url.QueryEscape("shop/mill.pdf")) {
		t.Errorf("%+v", cited)
	}

	var tool struct {
		Text    string
		Sources []object
	}
	session := connect(t, s)
	call(t, session, "answer", object{"query": "summarise mill.pdf"}, &tool)
	if !strings.Contains(tool.Text, "Brush the burrs") || len(tool.Sources) != 1 || tool.Sources[0]["id"] != "shop/mill.pdf#1" {
		t.Errorf("%+v", tool)
	}
	call(t, session, "answer", object{"query": "thank you"}, &tool)
	if tool.Text != "You are welcome." || len(tool.Sources) != 0 {
		t.Errorf("%+v", tool)
	}
}

// TestTalkWithinOne: what one document is asked for is searched in that document alone.
func TestTalkWithinOne(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Passages: ofMill})
	for message, want := range map[string]string{
		"what does Mill say about tea?":                     "searched in shop/mill.pdf alone, for: Mill tea",
		"what is said about the burrs in the file mill.pdf": "searched in shop/mill.pdf alone, for: Mill the burrs",
		"in shop/guide.md, what is four?":                   "searched in shop/guide.md alone, for: what is four",
	} {
		var answer struct {
			Notes   []string
			Verdict string
		}
		s.ask(http.MethodPost, "/v1/chat/completions", object{
			"model": "conclave", "messages": []object{{"role": "user", "content": message}},
		}, &answer)
		if len(answer.Notes) == 0 || answer.Notes[0] != want {
			t.Errorf("%q: %q, want %q", message, answer.Notes, want)
		}
	}
}

// TestLongMessages: a message that is longer than a question may be is searched for by a part, and one that was said
// before does not end the conversation.
func TestLongMessages(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Passages: ofMill})
	long := strings.Repeat("The weather of that day was neither good nor bad. ", 400)
	const asked = "How often are the burrs of the mill brushed?"
	for _, messages := range [][]object{
		{{"role": "user", "content": long + asked + long}},
		{{"role": "user", "content": long}, {"role": "user", "content": asked}},
	} {
		text, answer := s.chat(object{"model": "conclave", "messages": messages})
		said := strings.Contains(strings.Join(answer.Notes, " "), "at most 8192 were searched for")
		if !strings.Contains(text, "Brush the burrs") || said != (len(messages) == 1) {
			t.Errorf("%d messages: %q, notes %q", len(messages), text, answer.Notes)
		}
	}
}
