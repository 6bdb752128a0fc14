package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
)

// TestWritingInBrowser: the page shows what a model behind a scripted endpoint writes while it writes, as
// testdata/writing.mjs says.
func TestWritingInBrowser(t *testing.T) {
	pinned(t)
	node, _ := realclients.Node(t)
	model := realclients.NewModel(t)
	goOn := make(chan struct{})
	gone := make(chan string, 9) // the question whose writing the server ended
	model.Serve(func(w http.ResponseWriter, r *http.Request) {
		asked := model.Asked()
		_, question, _ := strings.Cut(asked[len(asked)-1], "Question: ")
		switch {
		case strings.Contains(question, "endlessly"):
			for r.Context().Err() == nil {
				realclients.WritePiece(w, "The keeper hid it again and again. ", "")
				time.Sleep(20 * time.Millisecond)
			}
			gone <- question
		case strings.Contains(question, "broke"):
			http.Error(w, "later", http.StatusTooManyRequests)
		case strings.Contains(question, "half"):
			realclients.WritePiece(w, "The keeper hid it [1].", "")
			panic(http.ErrAbortHandler)
		case strings.Contains(question, "parts"):
			realclients.WritePiece(w, "**Parts** of the lamp:\n\n- the lamp of the keeper [1]\n- <img src=x onerror=alert(1)>"+
				" ![p](http://evil.example/) [x](javascript:alert(1))\n\n| Part | Weight |\n| --- | ---: |\n"+
				"| keeper's lamp | `80` g [1] |\n\n```\nls *.md\n```\n", "stop")
		case strings.Contains(question, "first"):
			realclients.WritePiece(w, "Rice keeps [1].", "stop")
		default:
			realclients.WritePiece(w, "The keeper of the lighthouse hid the lamp [1]. He lives", "")
			select {
			case <-goOn:
			case <-r.Context().Done():
				return
			}
			realclients.WritePiece(w, " in Oslo [1].", "stop")
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
		}
	})
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/go-on" {
			select {
			case goOn <- struct{}{}:
			case <-r.Context().Done():
			}
			return
		}
		select {
		case question := <-gone:
			_, _ = io.WriteString(w, question)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(control.Close)
	server := realclients.Server(t, realclients.ServerOptions{Change: func(c *configs.Config) {
		c.Generators = []configs.Generator{
			{Name: "local", Address: model.URL, Model: "scripted", Timeout: time.Minute, MaxTokens: 8192},
		}
	}})
	t.Log(
		realclients.Run(
			t,
			realclients.Command{
				Interpreter: node,
				Args:        []string{filepath.Join("testdata", "writing.mjs")},
				Env:         []string{"SERVER=" + server, "MODEL=" + control.URL},
			},
		),
	)
}
