package documents

import (
	"strings"
	"testing"
)

// TestMailParts: of a mail's texts the one that says more is read, and each other part is a file of its own or named.
func TestMailParts(t *testing.T) {
	part := func(head, body string) string { return "--b\r\n" + head + "\r\n\r\n" + body + "\r\n" }
	mail := func(kind string, parts ...string) []byte {
		return []byte(
			"From: a@example.org\r\nSubject: Hello\r\nMIME-Version: 1.0\r\nContent-Type: multipart/" + kind + "; boundary=b\r\n\r\n" +
				strings.Join(parts, "") + "--b--\r\n",
		)
	}
	plain, page := "Content-Type: text/plain", "Content-Type: text/html"
	long := "<p>The pump is serviced in May, and the valve in June.</p><table><tr><th>Part<th>Price<tr><td>bolt<td>2</table>"
	for name, c := range map[string]struct {
		data     []byte
		want     string // a part of the text
		not      string
		attached string
		warning  string
	}{
		"hint":     {mail("alternative", part(plain, "Use an HTML reader."), part(page, long)), "Part | Price", "HTML reader", "", ""},
		"same":     {mail("alternative", part(plain, "The pump is serviced."), part(page, "<p>The pump is <b>serviced</b>.")), "The pump is serviced.", "<b>", "", ""},
		"page":     {mail("alternative", part(page, long)), "Part | Price", "<p>", "", ""},
		"inline":   {mail("mixed", part(plain, "See it."), part("Content-Type: application/pdf\r\nContent-Disposition: inline; filename=a.pdf", "x")), "See it.", "pdf", "a.pdf", ""},
		"picture":  {mail("related", part(page, "<p>Hello you."), part("Content-Type: image/png\r\nContent-Disposition: inline; filename=a.png\r\nContent-ID: <a>", "x")), "Hello you.", "png", "", "1 pictures in the mail were left out"},
		"calendar": {mail("alternative", part(plain, "You are invited."), part("Content-Type: text/calendar", "BEGIN:VEVENT\r\nSUMMARY:Pump\r\nEND:VEVENT")), "You are invited.", "VEVENT", "part-1.ics", ""},
	} {
		d, attached, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.eml", Data: c.data})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var names []string
		for _, m := range attached {
			names = append(names, m.Name)
		}
		if !strings.Contains(d.Text, c.want) || strings.Contains(d.Text, c.not) ||
			strings.Join(names, " ") != c.attached ||
			strings.Join(d.Warnings, " ") != c.warning {
			t.Errorf("%s: %q, %q, %q", name, d.Text, names, d.Warnings)
		}
	}
}
