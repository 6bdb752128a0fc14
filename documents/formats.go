package documents

import (
	"bytes"
	"slices"
	"strings"
)

// Media types of what is read.
const (
	PDF       = "application/pdf"
	HTML      = "text/html"
	Markdown  = "text/markdown"
	Text      = "text/plain"
	CSV       = "text/csv"
	TSV       = "text/tab-separated-values"
	DOCX      = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	PPTX      = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	XLSX      = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	ODT       = "application/vnd.oasis.opendocument.text"
	ODS       = "application/vnd.oasis.opendocument.spreadsheet"
	ODP       = "application/vnd.oasis.opendocument.presentation"
	EPUB      = "application/epub+zip"
	Mail      = "message/rfc822"
	Mailbox   = "application/mbox"
	Outlook   = "application/vnd.ms-outlook"
	Zip       = "application/zip"
	Tar       = "application/x-tar"
	Gzip      = "application/gzip"
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

// Format is a kind of file that is read.
type Format struct {
	Name      string   // as people call it; several names have commas between them
	MediaType string   // the one of its documents
	Types     []string // other media types that are declared for it
	Endings   []string // of its files' names, in lower case

	// text: its content is plain text, so that the ending of the name or the declared type decides (Detect).
	text bool
	// archive: it holds other files (Expand), which are read.
	archive bool
	// read reads a file of the format into w; nil for archives and for PDF, which needs PDFium (fileParser).
	read func(w *writer, in Input) (content, error)
}

// content is what the reader of a format returns beside the blocks that it wrote.
type content struct {
	title    string   // "": it has none
	attached []Member // files attached to a mail, unread
	warnings []string // what was left out, and what is doubtful
}

// Formats returns the formats that are read. Detection, help and the guide are compared with them.
func Formats() []Format {
	return []Format{
		{Name: "PDF", MediaType: PDF, Endings: []string{".pdf"}},
		{
			Name: "HTML", MediaType: HTML, Types: []string{"application/xhtml+xml"},
			Endings: []string{".html", ".htm", ".xhtml"}, text: true, read: titled(readHTML),
		},
		{
			Name: "Markdown", MediaType: Markdown, Types: []string{"text/x-markdown"},
			Endings: []string{".md", ".markdown", ".mdx"}, text: true, read: unnamed(readMarkdown),
		},
		{Name: "plain text", MediaType: Text, Endings: []string{".txt", ".text", ".log"}, read: titled(readText)},
		{Name: "DOCX", MediaType: DOCX, Endings: []string{".docx", ".docm"}, read: warned(readDOCX)},
		{Name: "PPTX", MediaType: PPTX, Endings: []string{".pptx", ".pptm", ".ppsx"}, read: unnamed(readPPTX)},
		{Name: "XLSX", MediaType: XLSX, Endings: []string{".xlsx", ".xlsm"}, read: warned(readXLSX)},
		{Name: "ODT", MediaType: ODT, Endings: []string{".odt"}, read: unnamed(readODF)},
		{Name: "ODS", MediaType: ODS, Endings: []string{".ods"}, read: unnamed(readODS)},
		{Name: "ODP", MediaType: ODP, Endings: []string{".odp"}, read: unnamed(readODF)},
		{Name: "EPUB", MediaType: EPUB, Endings: []string{".epub"}, read: unnamed(readEPUB)},
		{
			Name: "RTF", MediaType: RTF, Types: []string{"text/rtf"}, Endings: []string{".rtf"}, text: true,
			read: unnamed(func(w *writer, data []byte) (string, error) { return readRTF(w, string(data)) }),
		},
		{Name: "EML", MediaType: Mail, Endings: []string{".eml"}, text: true, read: mailed(readMail)},
		{Name: "MSG", MediaType: Outlook, Endings: []string{".msg"}, read: mailed(readOutlook)},
		{Name: "MBOX", MediaType: Mailbox, Endings: []string{".mbox"}, archive: true},
		{
			Name: "CSV", MediaType: CSV, Types: []string{"application/csv"}, Endings: []string{".csv"},
			text: true, read: untitled(readCSV),
		},
		{Name: "TSV", MediaType: TSV, Endings: []string{".tsv", ".tab"}, text: true, read: untitled(readCSV)},
		{
			Name: "JSON", MediaType: JSON, Types: []string{"application/x-ndjson", "application/jsonl"},
			Endings: []string{".json", ".jsonl", ".ndjson"}, text: true, read: decoded(readJSON),
		},
		{
			Name: "XML", MediaType: XML, Types: []string{"text/xml"}, Endings: []string{".xml"},
			text: true, read: decoded(readXML),
		},
		{
			Name: "reStructuredText", MediaType: ReST, Types: []string{"text/prs.fallenstein.rst"},
			Endings: []string{".rst", ".rest"}, text: true, read: decoded(readReST),
		},
		{
			Name: "AsciiDoc", MediaType: AsciiDoc, Types: []string{"text/x-asciidoc"},
			Endings: []string{".adoc", ".asciidoc", ".asc"}, text: true, read: decoded(readAsciiDoc),
		},
		{
			Name: "Org", MediaType: Org, Types: []string{"text/x-org"}, Endings: []string{".org"},
			text: true, read: decoded(readOrg),
		},
		{
			Name: "LaTeX", MediaType: LaTeX, Types: []string{"text/x-tex", "application/x-latex"},
			Endings: []string{".tex", ".latex", ".ltx"}, text: true, read: decoded(readLaTeX),
		},
		{
			Name: "man pages", MediaType: ManPage, Types: []string{"application/x-troff-man"},
			Endings: []string{".man", ".mdoc", ".roff"}, text: true, read: decoded(readManPage),
		},
		{
			Name: "Jupyter notebooks", MediaType: Notebook, Endings: []string{".ipynb"},
			text: true, read: decoded(readNotebook),
		},
		{
			Name: "RSS, Atom", MediaType: Feed, Types: []string{"application/atom+xml"},
			Endings: []string{".rss", ".atom"}, text: true, read: decoded(readFeed),
		},
		{
			Name: "SRT, WebVTT", MediaType: Subtitles, Types: []string{"text/vtt"}, Endings: []string{".srt", ".vtt"},
			text: true, read: decoded(readSubtitles),
		},
		{
			Name: "iCalendar, vCard", MediaType: Calendar, Types: []string{"text/vcard", "text/x-vcard"},
			Endings: []string{".ics", ".ifb", ".vcf"}, text: true, read: decoded(readCalendar),
		},
		{
			Name: "zip", MediaType: Zip, Types: []string{"application/x-zip-compressed"}, Endings: []string{".zip"},
			archive: true,
		},
		{Name: "tar", MediaType: Tar, Endings: []string{".tar"}, archive: true},
		{
			Name: "gzip", MediaType: Gzip, Types: []string{"application/x-gzip"},
			Endings: []string{".gz", ".tgz"}, archive: true,
		},
	}
}

// FormatNames returns the names of the formats that are read, with commas between them, for messages.
func FormatNames() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// formatOfEnding returns the format of files whose names have an ending, in lower case; the zero Format if none has it.
func formatOfEnding(ending string) Format {
	return formatWith(func(f Format) bool { return slices.Contains(f.Endings, ending) })
}

// formatOfType returns the format for a media type that was declared; the zero Format if there is none.
func formatOfType(mediaType string) Format {
	return formatWith(func(f Format) bool { return f.MediaType == mediaType || slices.Contains(f.Types, mediaType) })
}

// formatWith returns the first of Formats for which `is` returns true; the zero Format if there is none.
func formatWith(is func(Format) bool) Format {
	all := Formats()
	if at := slices.IndexFunc(all, is); at >= 0 {
		return all[at]
	}
	return Format{}
}

// titled returns a Format.read for a reader that returns the title.
func titled(
	read func(w *writer, data []byte, contentType string) (title string, err error),
) func(*writer, Input) (content, error) {
	return func(w *writer, in Input) (c content, err error) {
		c.title, err = read(w, in.Data, in.Type)
		return c, err
	}
}

// untitled returns a Format.read that calls read and returns a content without a title.
func untitled(read func(w *writer, data []byte, contentType string) error) func(*writer, Input) (content, error) {
	return func(w *writer, in Input) (content, error) { return content{}, read(w, in.Data, in.Type) }
}

// unnamed returns a Format.read that calls read, which needs no declared type, and returns a content with its title.
func unnamed(read func(w *writer, data []byte) (title string, err error)) func(*writer, Input) (content, error) {
	return func(w *writer, in Input) (c content, err error) {
		c.title, err = read(w, in.Data)
		return c, err
	}
}

// warned returns a Format.read that calls read and returns a content with its title and warnings.
func warned(
	read func(w *writer, data []byte) (title string, warnings []string, err error),
) func(*writer, Input) (content, error) {
	return func(w *writer, in Input) (c content, err error) {
		c.title, c.warnings, err = read(w, in.Data)
		return c, err
	}
}

// mailed returns a Format.read that calls read, which reads a mail, and returns a content with its title, attached
// files and warnings.
func mailed(
	read func(w *writer, data []byte, limits Limits) (string, []Member, []string, error),
) func(*writer, Input) (content, error) {
	return func(w *writer, in Input) (c content, err error) {
		c.title, c.attached, c.warnings, err = read(w, in.Data, w.limits)
		return c, err
	}
}

// decoded returns a Format.read that decodes the file, by its declared charset or its bytes (writer.decode), and
// calls read with the text in UTF-8 and \n as line ends. A text that cannot be decoded is an *UnreadableError.
func decoded(read func(w *writer, text string) (title string, err error)) func(*writer, Input) (content, error) {
	return func(w *writer, in Input) (c content, err error) {
		text, err := w.decode(in.Data, charsetOf(in.Type))
		if err != nil {
			return c, err
		}
		c.title, err = read(w, strings.ReplaceAll(text, "\r\n", "\n"))
		return c, err
	}
}

// textFormatOf returns the media type of a text by the ending of its name, the declared media type or its first bytes;
// "" if none of them tells. ending is in lower case.
func textFormatOf(head []byte, ending, declared string) string {
	found := formatOfEnding(ending)
	if !found.text && len(ending) >= 2 && ending[1] >= '1' && ending[1] <= '9' && isManPage(head) {
		return ManPage
	}
	if !found.text {
		found = formatOfType(declared)
	}
	switch {
	case !found.text:
		return ""
	case found.MediaType == XML && isFeed(head):
		return Feed
	}
	return found.MediaType
}

// isFeed reports whether the first 2 KiB of an XML file have the root element of RSS or Atom.
func isFeed(head []byte) bool {
	head = head[:min(len(head), 2048)]
	return bytes.Contains(head, []byte("<rss")) || bytes.Contains(head, []byte("<feed")) ||
		bytes.Contains(head, []byte("<rdf:RDF"))
}

// isManPage reports whether a line among the first 8 KiB of a file begins with one of the macros .TH, .Dd and .Sh
// of manual pages.
func isManPage(head []byte) bool {
	for line := range bytes.Lines(head[:min(len(head), 8192)]) {
		if bytes.HasPrefix(line, []byte(".TH ")) || bytes.HasPrefix(line, []byte(".Dd ")) ||
			bytes.HasPrefix(line, []byte(".Sh ")) {
			return true
		}
	}
	return false
}
