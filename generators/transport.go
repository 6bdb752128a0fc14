package generators

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
)

// mostAnswered is the largest number of bytes of an answer of a model's server, with everything around its words.
const mostAnswered = 16 << 20

// tolerantTransport limits the size of answers, and corrects those of servers that follow OpenAI's interface only in
// part: a whole answer in the place of a stream, and an error that is a string.
type tolerantTransport struct{ http.RoundTripper }

// RoundTrip sends a request and returns the answer, corrected: the body of an error as OpenAI writes it (errorObject),
// and a whole answer to a request for a stream as a stream (asStream). It reads at most mostAnswered bytes. It
// implements http.RoundTripper.
func (t tolerantTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return response, err
	}
	body := response.Body
	response.Body = readCloser{io.LimitReader(body, mostAnswered), body}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	streamed := r.Header.Get("Accept") == "text/event-stream"
	if response.StatusCode < http.StatusBadRequest && !(streamed && kind == "application/json") {
		return response, nil
	}
	whole, err := io.ReadAll(response.Body)
	if err != nil {
		_ = body.Close()
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		whole = errorObject(whole)
	} else {
		whole = asStream(whole)
		response.Header.Set("Content-Type", "text/event-stream")
	}
	response.Body = readCloser{bytes.NewReader(whole), body}
	response.ContentLength = int64(len(whole))
	response.Header.Set("Content-Length", strconv.Itoa(len(whole)))
	return response, nil
}

// readCloser reads from one place and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}

// errorObject returns the body of an error as OpenAI's servers write it: the message of a body that has a string in
// its place, or is no JSON at all, goes into an object. Other bodies are returned as they are.
func errorObject(body []byte) []byte {
	var answer struct {
		Error, Message, Detail json.RawMessage
	}
	message := ""
	err := json.Unmarshal(body, &answer)
	if err != nil {
		message = string(body)
	}
	for _, field := range []json.RawMessage{answer.Error, answer.Message, answer.Detail} {
		if message == "" && json.Unmarshal(field, &message) != nil {
			message = ""
		}
	}
	if message == "" {
		return body
	}
	object, err := json.Marshal(map[string]any{"error": map[string]string{"message": message}})
	if err != nil {
		return body
	}
	return object
}

// asStream returns a whole answer of a model as a stream of one event with the whole text, and the event [DONE]. A body
// that is not an answer becomes the first event, on one line.
func asStream(body []byte) []byte {
	var answer struct {
		ID, Model string
		Choices   []struct {
			Index        int             `json:"index"`
			Message      json.RawMessage `json:"message"`
			FinishReason string          `json:"finish_reason"`
		}
	}
	event := bytes.Join(bytes.Fields(body), []byte(" "))
	if json.Unmarshal(body, &answer) == nil && len(answer.Choices) > 0 {
		var choices []any
		for _, c := range answer.Choices {
			choices = append(choices, map[string]any{"index": c.Index, "delta": c.Message, "finish_reason": c.FinishReason})
		}
		made, err := json.Marshal(map[string]any{
			"id": answer.ID, "object": "chat.completion.chunk", "model": answer.Model, "choices": choices,
		})
		if err == nil {
			event = made
		}
	}
	return fmt.Appendf(nil, "data: %s\n\ndata: [DONE]\n\n", event)
}
