package endtoend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// formatSettings are the settings of the collection c.
const formatSettings = `synonyms:
  - words: [lamp, lantern]
  - {from: [port], to: [harbour]}
fields: {zip: keyword, price: number, published: date, draft: bool}
`

// writeFormats writes the folder of a release that is not there.
func writeFormats(t *testing.T, folder string) {
	t.Helper()
	if _, err := os.Stat(folder); err == nil {
		t.Fatalf("%s is there already: what a release wrote stays as it is", folder)
	}
	lines, questions := formatPassages()
	s := newSite(t, "log: {level: error}\n", []string{"base"}, "base", lines)
	for name, text := range map[string]string{"dev.jsonl": questions, "c/collection.yaml": formatSettings} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.command("calibrate", "--collection", "c", "--questions", "dev.jsonl")
	p := s.serve("")
	p.get(http.MethodPost, "/v1/passages", `{"id":"new","text":"a passage that came later"}`+"\n", http.StatusOK, nil)
	p.get(http.MethodDelete, "/v1/passages/p03", "", http.StatusOK, nil)
	p.visible()
	for _, judgment := range []string{
		`{"question":"is the herd counted","passage":"p00","grade":1}`,
		`{"question":"is the herd counted","passage":"p01","grade":0}`,
		`{"question":"which lamp was lit","passage":"p04","grade":1}`,
		`{"question":"taken back","passage":"p04","grade":1}`,
		`{"question":"taken back","passage":"p04"}`,
	} {
		p.get(http.MethodPost, "/v1/judgments", judgment, http.StatusOK, nil)
	}
	judged := p.judgedQuestions()
	s.command("snapshot", "--url", p.url, "--out", "first")
	answers := map[string]formatAnswer{}
	for name, request := range formatRequests {
		answers[name] = p.formatAnswer(request)
	}
	// Acknowledged, and in the log alone.
	p.get(http.MethodPost, "/v1/passages", `{"id":"last","text":"a passage of the log"}`+"\n", http.StatusOK, nil)
	p.kill()
	s.writeData(answers)

	for _, name := range []string{"experts", "c", "c-snapshots", "data"} {
		if err := os.CopyFS(filepath.Join(folder, name), os.DirFS(filepath.Join(s.dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.MarshalIndent(answers, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"answers.json":    string(text) + "\n",
		"export.jsonl":    s.command("export", "--collection", "c-snapshots/first"),
		"questions.jsonl": judged,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// formatPassages returns the lines of the passages of c, with metadata of each type, and of questions about them.
func formatPassages() (passages, questions string) {
	var lines, asked strings.Builder
	for i := range 60 {
		text := []string{"the herd has number %d", "a lamp of the harbour %d was lit", "cooked rice keeps for %d days"}[i%3]
		text = fmt.Sprintf(text, i)
		metadata := fmt.Sprintf(`{"zip":"%04d","price":%d.5,"published":"2024-01-%02d","draft":%t}`, 100+i%7, i, 1+i%28, i%5 == 0)
		fmt.Fprintf(&lines, "{\"id\":\"p%02d\",\"title\":\"Part %d\",\"text\":%q,\"tags\":[\"t%d\"],\"metadata\":%s}\n",
			i, i, text, i%4, metadata)
		if i >= 12 {
			fmt.Fprintf(&asked, "{\"question\":%q,\"positive_ids\":[\"p%02d\"]}\n", "tell me: "+text, i)
		}
	}
	return lines.String(), asked.String()
}

// writeData makes a folder of two collections over HTTP, fills them, and adds what they answer to answers.
func (s *site) writeData(answers map[string]formatAnswer) {
	s.t.Helper()
	p := s.serve("", "--data", "data")
	for _, body := range []string{
		`{"name":"herds","description":"What is counted","experts":["base"],"fields":{"size":"number"},"quotas":{"passages":1000}}`,
		`{"name":"lamps","description":"What was lit","experts":["base"],"search":{"k":4},
		  "synonyms":[{"words":["lamp","lantern"]},{"from":["port"],"to":["harbour"]}]}`,
	} {
		p.get(http.MethodPost, "/v1/collections", body, http.StatusCreated, nil)
	}
	for name, text := range map[string]string{
		"herds": `{"id":"h%d","text":"the herd of %d","metadata":{"size":%d}}` + "\n",
		"lamps": `{"id":"l%d","text":"lamp %d of the harbour was lit","metadata":{"year":%d}}` + "\n",
	} {
		var lines strings.Builder
		for i := range 20 {
			fmt.Fprintf(&lines, text, i, i, i)
		}
		p.get(http.MethodPost, "/v1/collections/"+name+"/passages?refresh=wait", lines.String(), http.StatusOK, nil)
	}
	for name, request := range dataRequests {
		answers[name] = p.formatAnswer(request)
	}
	p.stop()
}
