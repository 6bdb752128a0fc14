package adapters_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/testing/realclients"
)

// formed is a chat completion in a form.
type formed struct {
	Notes   []string
	Choices []struct {
		Message, Delta struct{ Content, Refusal string }
	}
}

// TestForm: a generator is sent the form that an answer is wanted in, and what it writes is passed on as it is where it
// is in that form. Otherwise there is a refusal that says why.
func TestForm(t *testing.T) {
	model := realclients.NewModel(t)
	s := written(t, model, time.Minute)
	schema := object{
		"type": "object", "properties": object{"who": object{"type": "string"}}, "required": []string{"who"},
		"additionalProperties": false,
	}
	body := object{
		"model": "conclave", "messages": []object{{"role": "user", "content": whereIsTheLamp}},
		"response_format": object{"type": "json_schema", "json_schema": object{"name": "answer", "schema": schema}},
	}
	var sent map[string]any
	say := func(text string) {
		model.Serve(func(w http.ResponseWriter, r *http.Request) {
			sent = nil
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
				t.Error(err)
			}
			for _, piece := range strings.SplitAfter(text, " ") {
				realclients.WritePiece(w, piece, "")
			}
			realclients.WritePiece(w, "", "stop")
		})
	}
	const right = `{"who": "the keeper of the lighthouse"}`
	for written, want := range map[string]struct{ content, refusal string }{
		right:                          {right, ""},
		"<think>Who? </think>" + right: {right, ""},
		"```json\n" + right + "\n```":  {right, ""},
		`{"whom": "the keeper"}`:       {"", `it has no field "who"`},
		"The keeper hid it [1].":       {"", "it is no JSON object"},
		`{"who": "the`:                 {"", "it is no JSON object"},
		"NOT ANSWERED":                 {"", "I find no answer to this in "},
	} {
		say(written)
		var answer formed
		s.ask(http.MethodPost, "/v1/chat/completions", body, &answer)
		got := answer.Choices[0].Message
		if got.Content != want.content || !strings.Contains(got.Refusal, want.refusal) || (got.Refusal == "") != (want.refusal == "") {
			t.Errorf("%q: %+v", written, got)
		}
		if want.content != "" && !strings.Contains(strings.Join(answer.Notes, "\n"), "passage 1: Lamps, http") {
			t.Errorf("%q: the notes are %q", written, answer.Notes)
		}
		pieces, last := s.chatStreamed(body)
		if strings.Join(pieces, "") != want.content || len(last.Choices) != 1 {
			t.Errorf("%q: streamed %q", written, pieces)
		}
		var response struct {
			Output []struct {
				Content []struct{ Type, Text, Refusal string }
			}
		}
		s.ask(http.MethodPost, "/v1/responses", object{
			"model": "conclave", "input": whereIsTheLamp,
			"text": object{"format": object{"type": "json_schema", "name": "answer", "schema": schema}},
		}, &response)
		part := response.Output[0].Content[0]
		if part.Text != want.content || (part.Type == "refusal") != (want.refusal != "") || part.Refusal != got.Refusal {
			t.Errorf("%q: %+v", written, part)
		}
	}
	format, err := json.Marshal(sent["response_format"])
	if err != nil || !strings.Contains(string(format), `"required":["who"]`) || !strings.Contains(string(format), `"name":"answer"`) {
		t.Errorf("the model was sent %s", format)
	}
	messages, err := json.Marshal(sent["messages"])
	if err != nil || !strings.Contains(string(messages), "Answer with JSON alone") {
		t.Errorf("the model was told %s", messages)
	}
}
