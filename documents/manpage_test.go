package documents

import "testing"

// TestControlLines: what only says how a text is set is not in it.
func TestControlLines(t *testing.T) {
	for name, text := range map[string]string{
		"a.man": ".ie n \\{\\\n. ftr V B\n.\\}\n.el \\{\\\n. ftr V CR\n.\\}\n.TH A 1\n.SH Wells\n.PP\nA well has water.\n",
		"a.tex": "\\documentclass{article}\n\\begin{document}\n\\hypertarget{wells}{%\n\\section{Wells}\\label{wells}}\n\n" +
			"A \\hypertarget{w}{well} has water.\n\\end{document}\n",
	} {
		d, _, err := newTestReader(t).Read(t.Context(), Input{Name: name, Data: []byte(text)})
		if err != nil || d.Text != "Wells\n\nA well has water." {
			t.Errorf("%s: %v, %q", name, err, d.Text)
		}
	}
}
