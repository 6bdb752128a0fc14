package documents

import (
	"bytes"
	"path"
	"strings"
)

// Media types of texts with a structure of their own.
const (
	ReST      = "text/x-rst"
	AsciiDoc  = "text/asciidoc"
	Org       = "text/org"
	LaTeX     = "application/x-tex"
	ManPage   = "text/troff"
	Notebook  = "application/x-ipynb+json"
	Feed      = "application/rss+xml"
	Subtitles = "application/x-subrip"
	JSON      = "application/json"
	XML       = "application/xml"
	RTF       = "application/rtf"
	Calendar  = "text/calendar"
)

// textFormat is a text format with a reader of its own.
type textFormat struct {
	mediaType string
	others    []string // other media types of the format
	endings   []string
	read      func(w *writer, text string) (title string, err error)
}

// textFormats returns the text formats that have a reader of their own; detection takes the first that fits.
func textFormats() []textFormat {
	return []textFormat{
		{ReST, []string{"text/prs.fallenstein.rst"}, []string{".rst", ".rest"}, readReST},
		{AsciiDoc, []string{"text/x-asciidoc"}, []string{".adoc", ".asciidoc", ".asc"}, readAsciiDoc},
		{Org, []string{"text/x-org"}, []string{".org"}, readOrg},
		{LaTeX, []string{"text/x-tex", "application/x-latex"}, []string{".tex", ".latex", ".ltx"}, readLaTeX},
		{ManPage, []string{"application/x-troff-man"}, []string{".man", ".mdoc", ".roff"}, readManPage},
		{Notebook, nil, []string{".ipynb"}, readNotebook},
		{Feed, []string{"application/atom+xml"}, []string{".rss", ".atom"}, readFeed},
		{Subtitles, []string{"text/vtt"}, []string{".srt", ".vtt"}, readSubtitles},
		{
			JSON,
			[]string{"application/x-ndjson", "application/jsonl"},
			[]string{".json", ".jsonl", ".ndjson"},
			readJSON,
		},
		{XML, []string{"text/xml"}, []string{".xml"}, readXML},
		{Calendar, []string{"text/vcard", "text/x-vcard"}, []string{".ics", ".ifb", ".vcf"}, readCalendar},
		{RTF, []string{"text/rtf"}, []string{".rtf"}, readRTF},
	}
}

// readTextFormat reads a file of one of textFormats into w. declared is the Content-Type that came with the file, whose
// charset is used. known is false, and nothing is read, for any other media type.
func readTextFormat(w *writer, data []byte, mediaType, declared string) (title string, known bool, err error) {
	for _, f := range textFormats() {
		if f.mediaType != mediaType {
			continue
		}
		text := string(data)
		if mediaType != RTF { // which names encodings inside
			text, err = w.decode(data, charsetOf(declared))
		}
		if err != nil {
			return "", true, err
		}
		title, err = f.read(w, strings.ReplaceAll(text, "\r\n", "\n"))
		return title, true, err
	}
	return "", false, nil
}

// detectTextFormat returns the media type of a text in one of textFormats, by the ending of its name, the declared
// media type or its first bytes; "" if it is in none of them.
func detectTextFormat(head []byte, name, declared string) string {
	ending := strings.ToLower(path.Ext(name))
	for _, f := range textFormats() {
		is := declared == f.mediaType
		for _, other := range f.others {
			is = is || declared == other
		}
		for _, e := range f.endings {
			is = is || e == ending
		}
		if is && f.mediaType == XML && isFeed(head) {
			return Feed
		}
		if is {
			return f.mediaType
		}
	}
	if len(ending) >= 2 && ending[1] >= '1' && ending[1] <= '9' && isManPage(head) {
		return ManPage
	}
	return ""
}

// isFeed reports whether the beginning of an XML file has the root element of RSS or Atom.
func isFeed(head []byte) bool {
	head = head[:min(len(head), 2048)]
	return bytes.Contains(head, []byte("<rss")) || bytes.Contains(head, []byte("<feed")) ||
		bytes.Contains(head, []byte("<rdf:RDF"))
}

// isManPage reports whether the beginning of a file has one of the macros .TH, .Dd and .Sh of manual pages.
func isManPage(head []byte) bool {
	for line := range bytes.Lines(head[:min(len(head), 8192)]) {
		if bytes.HasPrefix(line, []byte(".TH ")) || bytes.HasPrefix(line, []byte(".Dd ")) ||
			bytes.HasPrefix(line, []byte(".Sh ")) {
			return true
		}
	}
	return false
}
