package documents

import (
	"encoding/json"
	"strings"
)

// notebookText is text of a notebook: one string, or its lines.
type notebookText string

// UnmarshalJSON reads a string, or a list of strings, which it joins; any other value leaves the text as it was.
// The error is always nil.
func (t *notebookText) UnmarshalJSON(data []byte) error {
	var lines []string
	if json.Unmarshal(data, &lines) == nil {
		*t = notebookText(strings.Join(lines, ""))
		return nil
	}
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = notebookText(one)
	}
	return nil
}

// readNotebook writes the cells of a Jupyter notebook as blocks: text, read as Markdown, code, and what the code
// printed. Pictures are counted in a warning. It returns the first heading, "" if there is none. The error is an
// *UnreadableError if the JSON is damaged or a limit is exceeded.
func readNotebook(w *writer, text string) (string, error) {
	var book struct {
		Cells []struct {
			Type    string       `json:"cell_type"`
			Source  notebookText `json:"source"`
			Outputs []struct {
				Text notebookText                `json:"text"`
				Data map[string]notebookTextOrNo `json:"data"`
				Name string                      `json:"ename"`
				What string                      `json:"evalue"`
			} `json:"outputs"`
		} `json:"cells"`
	}
	if err := json.Unmarshal([]byte(text), &book); err != nil {
		return "", unreadable(Damaged, err, "it is no notebook that can be read")
	}
	pictures := 0
	for _, cell := range book.Cells {
		switch cell.Type {
		case "markdown":
			if _, err := readMarkdown(w, []byte(cell.Source)); err != nil {
				return "", err
			}
		default:
			w.add(Code, 0, string(cell.Source))
		}
		for _, out := range cell.Outputs {
			w.add(Code, 0, string(out.Text))
			if out.Name != "" {
				w.add(Code, 0, out.Name+": "+out.What)
			}
			w.add(Code, 0, string(out.Data["text/plain"].text))
			for kind := range out.Data {
				if strings.HasPrefix(kind, "image/") {
					pictures++
				}
			}
		}
		if w.err != nil {
			return "", w.err
		}
	}
	if pictures > 0 {
		w.warn("%d pictures in it were left out", pictures)
	}
	return firstHeading(w), nil
}

// notebookTextOrNo is an output of a notebook that may be text; its text is empty for others, such as objects.
type notebookTextOrNo struct{ text notebookText }

// UnmarshalJSON reads a string, or a list of strings, which it joins; any other value leaves the text as it was. The
// error is always nil.
func (t *notebookTextOrNo) UnmarshalJSON(data []byte) error { return t.text.UnmarshalJSON(data) }
