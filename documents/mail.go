package documents

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/jhillyerd/enmime/v2"
	"github.com/jhillyerd/enmime/v2/mediatype"
	"golang.org/x/net/html"
)

const (
	// mostMultiparts bounds the parts with parts in them. Each is read once more for every one around it.
	mostMultiparts = 32
	// mostPartErrors bounds the errors that are kept of a mail; none of them is looked at.
	mostPartErrors = 10
)

// readMail writes a mail to w: sender, recipients, date, subject and text with its quotations. title is the
// subject. attached are the other parts, unread; one without a file name is called part-1 and so on. warnings count
// pictures and say if there is no text. The error is an *UnreadableError if the mail is damaged or may have more
// than Limits.Members parts.
func readMail(w *writer, data []byte, limits Limits) (title string, attached []Member, warnings []string, err error) {
	if n := bytes.Count(data, []byte("\n--")); n > limits.Members {
		return "", nil, nil, unreadable(TooLarge, nil, "it may have %d parts, more than %d", n, limits.Members)
	}
	defer func() {
		if v := recover(); v != nil {
			err = unreadable(Damaged, fmt.Errorf("%v", v), "the mail cannot be read")
		}
	}()
	mail, err := parseMail(w, data)
	if err != nil {
		return "", nil, nil, unreadable(Damaged, err, "the mail cannot be read")
	}
	title = mail.GetHeader("Subject")
	var head []string
	for _, field := range []string{"From", "To", "Cc"} {
		if v := mail.GetHeader(field); v != "" {
			head = append(head, field+": "+v)
		}
	}
	if at, err := mail.Date(); err == nil {
		head = append(head, "Date: "+at.Format(time.DateOnly))
	}
	w.add(Heading, 1, title)
	w.add(Paragraph, 0, strings.Join(head, "; "))
	before := w.text.Len()
	addMailText(w, mail)
	if w.text.Len() == before {
		warnings = append(warnings, "the mail has no text")
	}
	others := append(mail.Attachments, mail.OtherParts...)
	pictures := 0
	for _, part := range mail.Inlines {
		if strings.HasPrefix(part.ContentType, "image/") {
			pictures++
			continue
		}
		others = append(others, part)
	}
	if pictures > 0 {
		warnings = append(warnings, fmt.Sprintf("%d pictures in the mail were left out", pictures))
	}
	for i, part := range others {
		name := part.FileName
		if name == "" {
			name = fmt.Sprintf("part-%d%s", i+1, partEnding(part.ContentType))
		}
		attached = append(attached, Member{Name: name, Data: part.Content})
	}
	return title, attached, warnings, nil
}

// partEnding returns the file ending for an attachment's media type; "" for types that Detect recognises by content.
func partEnding(mediaType string) string {
	switch mediaType {
	case HTML:
		return ".html"
	case Mail:
		return ".eml"
	case Calendar:
		return ".ics"
	case CSV:
		return ".csv"
	}
	return ""
}

// richerHTML is how many times more words the HTML part of a mail must have than its plain text to be read instead. The
// plain text of many mails says only that there is HTML.
const richerHTML = 1.2

// addMailText writes the plain text of a mail as paragraphs, or its HTML if there is no plain text or the HTML has
// over richerHTML times as many words. It writes nothing if there is neither.
func addMailText(w *writer, mail *enmime.Envelope) {
	plain := mail.Root.DepthMatchFirst(func(p *enmime.Part) bool {
		return p.ContentType == "text/plain" && p.Disposition != "attachment"
	})
	if strings.TrimSpace(mail.HTML) != "" {
		tree, err := html.Parse(strings.NewReader(mail.HTML))
		words := len(strings.Fields(mail.Text))
		if err == nil && (plain == nil || float64(len(strings.Fields(textBelow(tree)))) > richerHTML*float64(words)) {
			before := len(w.blocks)
			writeDOM(w, w.prune(tree))
			if len(w.blocks) > before {
				return
			}
		}
	}
	for _, lines := range paragraphs(strings.ReplaceAll(mail.Text, "\r\n", "\n")) {
		addParagraph(w, lines)
	}
}

// parseMail returns the parts of a mail, with texts decoded and all plain texts joined (joinTexts). In a mail with
// more than mostMultiparts parts that have parts themselves, the further ones are not taken apart, and a warning
// says so. The error is enmime's.
func parseMail(w *writer, data []byte) (*enmime.Envelope, error) {
	parts := 0
	taken := false
	parser := enmime.NewParser(enmime.MaxStoredPartErrors(mostPartErrors),
		enmime.SetCustomParseMediaType(func(s string) (string, map[string]string, []string, error) {
			mediaType, parameters, invalid, err := mediatype.Parse(s)
			if parameters["boundary"] != "" && !taken {
				parts++
				if parts > mostMultiparts {
					return "application/octet-stream", nil, nil, nil
				}
			}
			return mediaType, parameters, invalid, err
		}))
	root, err := parser.ReadParts(bytes.NewReader(data))
	taken = true
	if err != nil {
		return nil, err
	}
	if parts > mostMultiparts {
		w.warn("the mail has more than %d parts with parts in them: the others are not taken apart", mostMultiparts)
	}
	joinTexts(root)
	return parser.EnvelopeFromPart(root)
}

// joinTexts moves all plain texts of a mail into its first text part, with a line of -- between them. It changes
// nothing if the root is multipart/alternative. enmime does the same, but in quadratic time.
func joinTexts(root *enmime.Part) {
	const plain = "text/plain"
	if root.ContentType == "multipart/alternative" { // the first one says it all
		return
	}
	texts := root.DepthMatchAll(func(p *enmime.Part) bool {
		return p.ContentType == plain && p.Disposition != "attachment"
	})
	if len(texts) < 2 || texts[0] == root {
		return
	}
	var all [][]byte
	for i, p := range texts {
		all = append(all, p.Content)
		if i > 0 {
			p.ContentType, p.Disposition, p.Content = "", "joined", nil // taken for nothing
		}
	}
	texts[0].Content = bytes.Join(all, []byte("\n--\n"))
}

// splitMailbox returns the mails in a file in mbox format, in order and without their "From " lines, as parts of
// data; nil if there is no such line. What stands before the first one is dropped.
func splitMailbox(data []byte) [][]byte {
	var mails [][]byte
	from := []byte("From ")
	begin := -1
	for at := 0; at < len(data); {
		if bytes.HasPrefix(data[at:], from) &&
			(at == 0 || bytes.HasSuffix(data[:at], []byte("\n\n")) || bytes.HasSuffix(data[:at], []byte("\n\r\n"))) {
			if begin >= 0 {
				mails = append(mails, data[begin:at])
			}
			end := bytes.IndexByte(data[at:], '\n')
			if end < 0 {
				begin = len(data)
				break
			}
			begin = at + end + 1
			at = begin
			continue
		}
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	if begin >= 0 && begin < len(data) {
		mails = append(mails, data[begin:])
	}
	return mails
}
