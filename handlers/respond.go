package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// encode writes a value as one line of JSON.
func encode(into *bytes.Buffer, v any) error {
	encoder := json.NewEncoder(into)
	encoder.SetEscapeHTML(false) // it is JSON, says its type, and may not be sniffed
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("marshalling the answer: %w", err)
	}
	return nil
}

// respondWith answers with JSON. It is marshalled before anything is sent, so that
// what cannot be marshalled is still a problem, and the length is known.
func respondWith(w http.ResponseWriter, status int, body any) error {
	var b bytes.Buffer
	if err := encode(&b, body); err != nil {
		return err
	}
	if h := w.Header(); h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	writeWith(w, status, typeJSON, b.Bytes())
	return nil
}

func write(w http.ResponseWriter, contentType string, body []byte) {
	writeWith(w, http.StatusOK, contentType, body)
}

func writeWith(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	if contentType == typeHTML || contentType == "text/css" || contentType == "text/javascript" {
		contentType += "; charset=utf-8"
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if status != http.StatusOK {
		w.WriteHeader(status)
	}
	_, _ = w.Write(body) // the client may be gone
}
