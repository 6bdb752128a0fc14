package documents

import (
	"bytes"
	"encoding/binary"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

// mailHeader matches the lines that a mail begins with.
var mailHeader = regexp.MustCompile(`(?i)^(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*){2,}`)

// mailFields are fields of which a mail has one.
var mailFields = regexp.MustCompile(`(?im)^(?:from|received|message-id|mime-version|return-path|subject|date):`)

// Detect returns the media type of a file, by its content. For text, and for archives that are documents, the declared
// type and the ending of the name decide, too. It is never "": unknown binary content is "application/octet-stream".
func Detect(data []byte, name, declared string) string {
	declaredType, _, _ := mime.ParseMediaType(declared)
	ending := endingOf(name, declared)
	named := formatOfEnding(ending).MediaType
	head := data[:min(len(data), 64<<10)]
	switch {
	case bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-")):
		return PDF
	case bytes.HasPrefix(head, []byte(`{\rtf`)):
		return RTF
	case bytes.HasPrefix(head, []byte{0xD0, 0xCF, 0x11, 0xE0}):
		return inCompound(data)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		if t := insideZip(data); t != "" {
			return t
		}
		if strings.Contains(named, "openxml") || strings.Contains(named, "oasis") || named == EPUB {
			return named // damaged; its reader says how
		}
		return Zip
	case bytes.HasPrefix(head, []byte{0x1F, 0x8B}):
		return Gzip
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return Tar
	}
	if !textual(head) {
		if t, _, _ := strings.Cut(mimetype.Detect(head).String(), ";"); t != Text {
			return t
		}
		return "application/octet-stream"
	}
	if t := pictureOrSound(head, ending); t != "" {
		return t
	}
	switch {
	case bytes.HasPrefix(head, []byte("From ")) && (named == Mailbox || mailFields.Match(head)):
		return Mailbox
	case named == Mail,
		mailHeader.Match(head) && len(mailFields.FindAll(head[:min(len(head), 4096)], 3)) >= 2 && named != Markdown &&
			named != CSV:
		return Mail
	}
	if t := textFormatOf(head, ending, declaredType); t != "" {
		return t
	}
	if t, _, _ := strings.Cut(mimetype.Detect(head).String(), ";"); t == HTML {
		return HTML
	}
	if bytes.Contains(bytes.ToLower(head[:min(len(head), 2048)]), []byte("<html")) {
		return HTML
	}
	return Text
}

// pictureOrSound returns the media type of a picture, sound, video or font, by its first bytes or the ending of its
// name; "" for all others and for pictures written in XML.
func pictureOrSound(head []byte, ending string) string {
	for _, t := range []string{mimetype.Detect(head).String(), mime.TypeByExtension(ending)} {
		t, _, _ = strings.Cut(t, ";")
		kind, rest, _ := strings.Cut(t, "/")
		switch kind {
		case "image", "audio", "video", "font":
			// The ending .ts is also that of a program.
			if !strings.HasSuffix(rest, "+xml") && t != "video/mp2t" && !strings.HasPrefix(rest, "vnd.dlna") {
				return t
			}
		}
	}
	return ""
}

// oldOffice is the media type of compound files that are no mail, such as DOC and XLS.
const oldOffice = "application/x-ole-storage"

// inCompound returns Outlook for a compound file that is a mail, and oldOffice for others. It looks at the first names
// in the file's directory.
func inCompound(data []byte) string {
	const (
		headBytes  = 512
		entryBytes = 128
		nameBytes  = 64
	)
	if len(data) < headBytes {
		return oldOffice
	}
	shift := min(binary.LittleEndian.Uint16(data[30:]), 12) // 9 or 12
	begin := (uint64(binary.LittleEndian.Uint32(data[48:])) + 1) << shift
	end := min(begin+1<<shift, uint64(len(data)))
	for at := begin; at+entryBytes <= end; at += entryBytes {
		name := strings.ReplaceAll(string(data[at:at+nameBytes]), "\x00", "")
		if strings.HasPrefix(name, "__substg1.0_") || strings.HasPrefix(name, "__properties_version1.0") ||
			strings.HasPrefix(name, "__nameid_version1.0") {
			return Outlook
		}
	}
	return oldOffice
}

// insideZip returns the media type of a document that is a zip archive, such as DOCX or EPUB; "" for other zip archives
// and for a damaged one.
func insideZip(data []byte) string {
	r, err := openZip(data)
	if err != nil {
		return ""
	}
	for _, f := range r.File {
		switch name := strings.ToLower(f.Name); {
		case name == "mimetype" && f.UncompressedSize64 < 200:
			in, err := f.Open()
			if err != nil {
				continue
			}
			var b [200]byte
			n, _ := in.Read(b[:])
			_ = in.Close()
			t := strings.TrimSuffix(strings.TrimSpace(string(b[:n])), "-template")
			switch t {
			case ODT, ODS, ODP, EPUB:
				return t
			}
		case strings.HasPrefix(name, "word/document"):
			return DOCX
		case name == "ppt/presentation.xml":
			return PPTX
		case name == "xl/workbook.xml", name == "xl/workbook.bin":
			return XLSX
		}
	}
	return ""
}

// textual reports whether the first bytes of a file are text, in any encoding: they have no NUL byte, unless they
// are UTF-16, and at most 1 % control characters, or 5 % if they are valid UTF-8. No bytes are text.
func textual(head []byte) bool {
	if bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF}) ||
		unmarkedUTF16(head[:len(head)&^1]) != "" {
		return true
	}
	control := 0
	for _, c := range head {
		if c == 0 {
			return false
		}
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1B {
			control++
		}
	}
	return control*100 <= len(head) || utf8.Valid(head) && control*20 <= len(head)
}
