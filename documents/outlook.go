package documents

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"mime"
	"net/mail"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/richardlehane/mscfb"
	"golang.org/x/text/encoding/unicode"
)

// Properties of Outlook's messages (MS-OXPROPS), by their number.
const (
	oxSubject       = 0x0037
	oxHeaders       = 0x007D // those of the mail as it was received
	oxSubmitted     = 0x0039
	oxRecipientType = 0x0C15
	oxSenderName    = 0x0C1A
	oxSenderMail    = 0x0C1F
	oxSentByName    = 0x0042
	oxSenderSMTP    = 0x5D01
	oxDisplayTo     = 0x0E04
	oxDisplayCc     = 0x0E03
	oxDelivered     = 0x0E06
	oxBody          = 0x1000
	oxRTF           = 0x1009
	oxHTML          = 0x1013
	oxName          = 0x3001
	oxMail          = 0x3003
	oxSMTP          = 0x39FE
	oxData          = 0x3701
	oxShortName     = 0x3704
	oxLongName      = 0x3707
	oxMIMEType      = 0x370E
	oxContentID     = 0x3712
	oxInternetPage  = 0x3FDE // code pages
	oxMessagePage   = 0x3FFD
)

// Types of properties.
const (
	oxLong    = 0x0003
	oxObject  = 0x000D
	oxANSI    = 0x001E
	oxUnicode = 0x001F
	oxTime    = 0x0040
	oxBinary  = 0x0102
)

const (
	mostEntries = 100_000 // streams and storages of a compound file
	// oxRecipients and oxAttached begin the names of the storages of recipients and attached files, and oxStream those of
	// properties.
	oxRecipients = "__recip_version1.0_#"
	oxAttached   = "__attach_version1.0_#"
	oxStream     = "__substg1.0_"
	oxProperties = "__properties_version1.0"
)

// readOutlook reads a mail in Outlook's format (MSG): it makes a mail of a mail server of it, and reads that with
// readMail, whose results it returns. Mails in it are attached as files that end in ".eml". The error is an
// *UnreadableError if the file is damaged or beyond the limits.
func readOutlook(
	w *writer,
	data []byte,
	limits Limits,
) (title string, attached []Member, warnings []string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = unreadable(Damaged, fmt.Errorf("%v", v), "the mail cannot be read")
		}
	}()
	file, err := mscfb.New(bytes.NewReader(data))
	if err != nil {
		return "", nil, nil, unreadable(Damaged, err, "the mail cannot be read")
	}
	if len(file.File) > mostEntries {
		return "", nil, nil, unreadable(TooLarge, nil, "it has more than %d entries", mostEntries)
	}
	o := &outlookFile{w: w, limits: limits, left: limits.UnpackedBytes, storages: map[string]*outlookStorage{}}
	for _, f := range file.File[1:] {
		o.storage(strings.Join(f.Path, "/")).add(f)
	}
	text := o.mail(o.storage(""), 32, limits.Depth)
	if o.err != nil {
		return "", nil, nil, o.err
	}
	return readMail(w, text, limits)
}

// outlookFile is a file of Outlook that is being read.
type outlookFile struct {
	w        *writer
	limits   Limits
	left     int64 // bytes of streams that may still be read
	storages map[string]*outlookStorage
	err      error // *UnreadableError: the first limit that was exceeded
}

// outlookStorage is a message, a recipient or an attached file.
type outlookStorage struct {
	path    string
	streams map[string]*mscfb.File // by name
	parts   []string               // names of the storages in it
}

// storage returns the storage with this path. It adds an empty one if there is none.
func (o *outlookFile) storage(path string) *outlookStorage {
	s := o.storages[path]
	if s == nil {
		s = &outlookStorage{path: path, streams: map[string]*mscfb.File{}}
		o.storages[path] = s
	}
	return s
}

// add adds a stream, or the name of a storage inside this one.
func (s *outlookStorage) add(f *mscfb.File) {
	if f.FileInfo().IsDir() {
		s.parts = append(s.parts, f.Name)
		return
	}
	s.streams[f.Name] = f
}

// read returns the content of a stream; nil if there is none, it cannot be read, which is a warning, or o.err is
// set. It takes its bytes from those that may still be read; beyond Limits.UnpackedBytes for all streams it sets
// o.err.
func (o *outlookFile) read(s *outlookStorage, name string) []byte {
	f := s.streams[name]
	if f == nil || o.err != nil {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, o.left+1))
	if int64(len(data)) > o.left {
		o.err = unreadable(TooLarge, nil, "it unpacks to more than %d MiB", o.limits.UnpackedBytes>>20)
		return nil
	}
	o.left = max(0, o.left-int64(len(data))-partCost)
	if err != nil {
		o.w.warn("a part of the mail cannot be read: %v", err)
		return nil
	}
	return data
}

// outlookProperties are the properties of a storage with a value of at most eight bytes, by number and type.
type outlookProperties map[uint32]uint64

// properties returns the properties in a storage's list, which begins after `header` bytes; none if the list is
// missing.
func (o *outlookFile) properties(s *outlookStorage, header int) outlookProperties {
	all := outlookProperties{}
	list := o.read(s, oxProperties)
	for at := header; at+16 <= len(list); at += 16 {
		all[binary.LittleEndian.Uint32(list[at:])] = binary.LittleEndian.Uint64(list[at+8:])
	}
	return all
}

// number returns a property with an integer value; 0 if it is missing.
func (p outlookProperties) number(property uint32) int { return int(uint32(p[property<<16|oxLong])) }

// time returns a property with a time, in UTC; ok is false if it is missing or out of range, and the time is of no
// use then.
func (p outlookProperties) time(property uint32) (at time.Time, ok bool) {
	const toUnix = 11_644_473_600 // seconds from 1601
	n := p[property<<16|oxTime]
	seconds := int64(n/10_000_000) - toUnix
	return time.Unix(seconds, 0).UTC(), n != 0 && seconds > -toUnix && seconds < 1<<38
}

// streamOf returns the name of the stream that holds a property with values of this type.
func streamOf(property, kind uint32) string {
	return fmt.Sprintf("%s%04X%04X", oxStream, property, kind)
}

// text returns a text property: the Unicode one, or else the one in the Windows code page `page`, 0 if that is
// unknown. It is "" if the property is missing or cannot be decoded.
func (o *outlookFile) text(s *outlookStorage, property uint32, page int) string {
	if data := o.read(s, streamOf(property, oxUnicode)); data != nil {
		text, err := transform(data, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "UTF-16LE")
		if err == nil {
			return strings.TrimRight(text, "\x00")
		}
	}
	data := bytes.TrimRight(o.read(s, streamOf(property, oxANSI)), "\x00")
	if len(data) == 0 {
		return ""
	}
	text, err := o.w.decode(data, pageNamed(page))
	if err != nil {
		return ""
	}
	return text
}

// pageNamed returns the name of the encoding of a Windows code page: that of a known page, else "IBM" with its
// number, which may not exist; "" for 0.
func pageNamed(page int) string {
	known := map[int]string{
		65001: "utf-8", 932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5", 20866: "koi8-r", 21866: "koi8-u",
		20127: "windows-1252", 51932: "euc-jp", 50220: "iso-2022-jp", 54936: "gb18030",
	}
	switch name := known[page]; {
	case name != "":
		return name
	case page > 28590 && page <= 28606:
		return "iso-8859-" + strconv.Itoa(page-28590)
	case page >= 1250 && page <= 1258 || page == 874:
		return "windows-" + strconv.Itoa(page)
	case page > 0:
		return "IBM" + strconv.Itoa(page)
	}
	return ""
}

// mail returns a message as a mail of a mail server (RFC 5322). The list of its properties begins after `header`
// bytes. Messages in it are attached up to depth levels deep; a deeper one sets o.err. With o.err set, the mail is
// incomplete.
func (o *outlookFile) mail(s *outlookStorage, header, depth int) []byte {
	p := o.properties(s, header)
	page := p.number(oxMessagePage)
	if page == 0 {
		page = p.number(oxInternetPage)
	}
	var out mailWriter
	out.header("Subject", o.text(s, oxSubject, page))
	out.header("From", o.sender(s, page))
	to, cc := o.recipients(s, page)
	out.header("To", to)
	out.header("Cc", cc)
	if at, ok := p.time(oxSubmitted); ok {
		out.header("Date", at.Format(time.RFC1123Z))
	} else if at, ok := p.time(oxDelivered); ok {
		out.header("Date", at.Format(time.RFC1123Z))
	} else if received, err := mail.ReadMessage(strings.NewReader(o.text(s, oxHeaders, page) + "\r\n")); err == nil {
		out.header("Date", received.Header.Get("Date"))
	}
	out.begin()
	web, declared := o.html(s, page, p.number(oxInternetPage))
	plain := o.text(s, oxBody, page)
	if strings.TrimSpace(plain) == "" && len(web) == 0 {
		plain = o.textOfRTF(s)
	}
	out.texts(plain, web, declared)
	for _, name := range slices.Sorted(slices.Values(s.parts)) {
		if strings.HasPrefix(name, oxAttached) && o.err == nil {
			o.attach(&out, o.storage(path.Join(s.path, name)), web, page, depth)
		}
	}
	return out.end()
}

// sender returns who sent a message, such as "Ann <ann@example.org>"; "" if that is unknown. page is the Windows code
// page of texts that are not UTF-16.
func (o *outlookFile) sender(s *outlookStorage, page int) string {
	name := o.text(s, oxSenderName, page)
	if name == "" {
		name = o.text(s, oxSentByName, page)
	}
	address := o.text(s, oxSenderSMTP, page)
	if address == "" {
		address = o.text(s, oxSenderMail, page)
	}
	return addressed(name, address)
}

// addressed returns a sender or recipient as text, such as "Ann <ann@example.org>". If the address has no @, as
// Exchange's own have, it returns the name alone, which may be "". If the name is empty or the same as the address, it
// returns the address alone.
func addressed(name, address string) string {
	switch {
	case !strings.Contains(address, "@"):
		return name
	case name == "" || name == address:
		return address
	}
	return name + " <" + address + ">"
}

// recipients returns the recipients in the fields To and Cc, such as "Ann <ann@example.org>", separated by commas;
// "" if there are none. If the message lists none, the names are those that Outlook shows. page is the code page of
// its texts.
func (o *outlookFile) recipients(s *outlookStorage, page int) (to, cc string) {
	var all [2][]string
	for _, name := range slices.Sorted(slices.Values(s.parts)) {
		if !strings.HasPrefix(name, oxRecipients) {
			continue
		}
		entry := o.storage(path.Join(s.path, name))
		address := o.text(entry, oxSMTP, page)
		if address == "" {
			address = o.text(entry, oxMail, page)
		}
		recipient := addressed(o.text(entry, oxName, page), address)
		switch o.properties(entry, 8).number(oxRecipientType) {
		case 1:
			all[0] = append(all[0], recipient)
		case 2:
			all[1] = append(all[1], recipient)
		}
	}
	to = strings.Join(all[0], ", ")
	cc = strings.Join(all[1], ", ")
	if to == "" && cc == "" {
		to = o.text(s, oxDisplayTo, page)
		cc = o.text(s, oxDisplayCc, page)
	}
	return to, cc
}

// html returns the HTML body of a message and the name of its encoding: the one that the HTML declares, else that of
// internetPage, else utf-8. The body is empty if there is none or it cannot be read (see read). page is the code page
// of the message's properties, and internetPage the one that the message declares for its body; 0: unknown.
func (o *outlookFile) html(s *outlookStorage, page, internetPage int) (text []byte, charset string) {
	if data := o.read(s, streamOf(oxHTML, oxBinary)); len(data) > 0 {
		charset = declaredInHTML(data, "")
		if charset == "" {
			charset = pageNamed(internetPage)
		}
		if charset == "" {
			charset = "utf-8"
		}
		return data, charset
	}
	return []byte(o.text(s, oxHTML, page)), "utf-8"
}

// textOfRTF returns the text of a message's RTF body; "" if it has none, or if it cannot be read, which is a warning.
func (o *outlookFile) textOfRTF(s *outlookStorage) string {
	packed := o.read(s, streamOf(oxRTF, oxBinary))
	if len(packed) == 0 {
		return ""
	}
	rtf, err := unpackRTF(packed, o.w.limits.TextBytes)
	if err != nil {
		o.w.warn("the text of the mail cannot be read: %v", err)
		return ""
	}
	inner := &writer{limits: o.w.limits}
	if _, err := readRTF(inner, string(rtf)); err != nil {
		o.w.warn("the text of the mail cannot be read: %v", err)
		return ""
	}
	return inner.text.String()
}

// attach appends a file or message that is attached to a message to out. A picture that web, the HTML body, shows
// is marked as inline. An object of another program is left out with a warning. depth is how many levels of
// messages may still be attached: at 0 an attached message sets o.err.
func (o *outlookFile) attach(out *mailWriter, s *outlookStorage, web []byte, page, depth int) {
	name := o.text(s, oxLongName, page)
	if name == "" {
		name = o.text(s, oxShortName, page)
	}
	if name == "" {
		name = o.text(s, oxName, page)
	}
	inside := streamOf(oxData, oxObject)
	if slices.Contains(s.parts, inside) {
		inner := o.storage(path.Join(s.path, inside))
		if inner.streams[oxProperties] == nil {
			o.w.warn("an object of another program in the mail was left out: %.80q", name)
			return
		}
		if depth == 0 {
			o.err = unreadable(TooLarge, nil, "mails are nested more than %d deep in it", o.limits.Depth)
			return
		}
		out.attach("application/octet-stream", "attachment", name+".eml", o.mail(inner, 24, depth-1))
		return
	}
	mediaType := o.text(s, oxMIMEType, page)
	if kind, _, err := mime.ParseMediaType(mediaType); err != nil || strings.HasPrefix(kind, "multipart/") {
		mediaType = "application/octet-stream"
	}
	disposition := "attachment"
	id := o.text(s, oxContentID, page)
	if id != "" && strings.HasPrefix(mediaType, "image/") && bytes.Contains(web, []byte("cid:"+id)) {
		disposition = "inline"
	}
	out.attach(mediaType, disposition, name, o.read(s, streamOf(oxData, oxBinary)))
}

// mailWriter writes a mail of several parts (MIME).
type mailWriter struct{ b bytes.Buffer }

// mailBoundary stands between the parts of a mail, and textBoundary between the forms of its text. The parts are in
// base64, which does not have them.
const (
	mailBoundary = "=_conclave"
	textBoundary = "=_text"
)

// header writes a field of the header on one line; none if the text is blank.
func (m *mailWriter) header(name, text string) {
	text = clean(text)
	if text != "" {
		fmt.Fprintf(&m.b, "%s: %s\r\n", name, mime.BEncoding.Encode("utf-8", text))
	}
}

// begin writes the content type and the blank line that end the header.
func (m *mailWriter) begin() {
	fmt.Fprintf(&m.b, "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=%q\r\n\r\n", mailBoundary)
}

// texts writes the part of a mail with its plain text and its HTML, whose bytes have this encoding, as alternatives.
// Blank plain text is left out if there is HTML, and so is empty HTML.
func (m *mailWriter) texts(plain string, web []byte, encoding string) {
	fmt.Fprintf(&m.b, "--%s\r\nContent-Type: multipart/alternative; boundary=%q\r\n\r\n", mailBoundary, textBoundary)
	if strings.TrimSpace(plain) != "" || len(web) == 0 {
		fmt.Fprintf(&m.b, "--%s\r\nContent-Type: text/plain; charset=utf-8\r\n", textBoundary)
		m.content([]byte(plain))
	}
	if len(web) > 0 {
		parameters := map[string]string{"charset": encoding}
		fmt.Fprintf(&m.b, "--%s\r\nContent-Type: %s\r\n", textBoundary, mime.FormatMediaType(HTML, parameters))
		m.content(web)
	}
	fmt.Fprintf(&m.b, "--%s--\r\n", textBoundary)
}

// attach writes an attached file with its media type, disposition and file name, which may be "".
func (m *mailWriter) attach(mediaType, disposition, name string, content []byte) {
	parameters := map[string]string{}
	name = clean(name)
	if name != "" {
		parameters["filename"] = name
	}
	fmt.Fprintf(&m.b, "--%s\r\nContent-Type: %s\r\nContent-Disposition: %s\r\n",
		mailBoundary, mediaType, mime.FormatMediaType(disposition, parameters))
	m.content(content)
}

// content writes the last header line and the blank line of a part, and then its content in base64.
func (m *mailWriter) content(content []byte) {
	m.b.WriteString("Content-Transfer-Encoding: base64\r\n\r\n")
	const bytesALine = 57
	for line := range slices.Chunk(content, bytesALine) {
		m.b.Write(base64.StdEncoding.AppendEncode(m.b.AvailableBuffer(), line))
		m.b.WriteString("\r\n")
	}
}

// end ends the last part and returns the mail.
func (m *mailWriter) end() []byte {
	fmt.Fprintf(&m.b, "--%s--\r\n", mailBoundary)
	return m.b.Bytes()
}
