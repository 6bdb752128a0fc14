package documents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// formatSamples are the beginnings of files, by media type, that tell the format by their content; for formats that are
// told by name or declared type, a text that is no other format.
func formatSamples() map[string]string {
	office := func(part string) string { return string(zipOf(map[string]string{part: "<x/>"})) }
	open := func(mediaType string) string { return string(zipOf(map[string]string{"mimetype": mediaType})) }
	outlook, err := os.ReadFile(filepath.Join("testdata", "outlook.msg"))
	if err != nil {
		panic(err)
	}
	return map[string]string{
		PDF: "%PDF-1.7", DOCX: office("word/document.xml"), PPTX: office("ppt/presentation.xml"),
		XLSX: office("xl/workbook.xml"), ODT: open(ODT), ODS: open(ODS), ODP: open(ODP), EPUB: open(EPUB),
		RTF: `{\rtf1 text}`, Outlook: string(outlook), Mailbox: "From a@example.org\nSubject: x\nDate: y\n\ntext\n",
		Zip: office("a.txt"), Tar: strings.Repeat("x", 257) + "ustar\x00" + strings.Repeat("x", 300), Gzip: "\x1f\x8b\x08",
	}
}

// TestFormatTable: each format is found by its content, or for texts by each ending and declared type, and is read.
func TestFormatTable(t *testing.T) {
	samples := formatSamples()
	endings := map[string]string{}
	for _, f := range Formats() {
		sample, byContent := samples[f.MediaType]
		if !byContent {
			sample = "plain words without any mark\n"
		}
		if f.Name == "" || f.MediaType == "" || len(f.Endings) == 0 || f.read == nil && !f.archive && f.MediaType != PDF {
			t.Errorf("%q (%s) lacks something", f.Name, f.MediaType)
		}
		for _, ending := range f.Endings {
			if other := endings[ending]; other != "" || ending != strings.ToLower(ending) {
				t.Errorf("the ending %s of %s is taken by %q", ending, f.Name, other)
			}
			endings[ending] = f.Name
			if got := Detect([]byte(sample), "a"+strings.ToUpper(ending), ""); got != f.MediaType {
				t.Errorf("%s with the ending %s is taken for %s", f.Name, ending, got)
			}
		}
		for _, declared := range append(f.Types, f.MediaType) {
			if got := Detect([]byte(sample), "a", declared+"; charset=utf-8"); got != f.MediaType {
				t.Errorf("%s declared as %s is taken for %s", f.Name, declared, got)
			}
		}
		if byContent {
			if got := Detect([]byte(sample), "a", ""); got != f.MediaType {
				t.Errorf("the content of %s is taken for %s", f.Name, got)
			}
		}
		if convertible(f.MediaType) != (f.archive && f.MediaType != Mailbox) {
			t.Errorf("%s is given to a converter: %t", f.Name, convertible(f.MediaType))
		}
	}
}

// TestFormatsInGuide: the guide has a row for each format, with its endings and media types, and the description of the
// API and the help of the commands name them all.
func TestFormatsInGuide(t *testing.T) {
	var rows []string
	for _, f := range Formats() {
		rows = append(rows, "| "+f.Name+" | `"+strings.Join(f.Endings, "` `")+"` | `"+
			strings.Join(append([]string{f.MediaType}, f.Types...), "` `")+"` |")
	}
	for path, want := range map[string]string{
		"docs/documents.md":            "| format | endings | media types |\n| --- | --- | --- |\n" + strings.Join(rows, "\n") + "\n\n",
		"handlers/schema/openapi.yaml": FormatNames(),
		"cmd/conclave/index.go":        "documents.FormatNames()",
		"cmd/conclave/read.go":         "documents.FormatNames()",
	} {
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(path)))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not have\n%s", path, want)
		}
	}
}
