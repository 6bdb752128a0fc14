package documents

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// A worker is sent requests, up to mostAtOnce before their answers are read, and sends answers, one for each, in
// their order. Both are frames: the length of the
// payload in eight bytes, little endian, and the payload. Numbers in it are varints, strings and
// files are behind their lengths.

// request asks a worker to read a file, to unpack an archive, or to draw a page of a PDF.
type request struct {
	unpack    bool
	skip      int    // of unpack: how many members earlier answers had
	draw      int    // page of a PDF, from 1, to draw as a PNG; 0: none
	dpi       int    // of draw: dots per inch
	mark      string // of draw: text whose words are marked on the page; "": none is
	words     int    // of read: usual words of a passage (Cut); 0: not cut
	limits    Limits
	file      Input
	mediaType string // of the file, from Detect; "": the worker detects it

	pages  pageRange // of read, of a PDF: the pages whose encoding is the only member of the answer; zero: all
	layOut bool      // of read: the file is the encoded pages of a PDF (decodeParts)
}

// answer is the response of a worker to a request.
type answer struct {
	refused  *UnreadableError // why the file was not read, or not wholly unpacked; nil: it was
	document *Document        // of read; nil if the file was not read
	members  []Member         // of read: attached files; of unpack: those of the archive; of draw: the PNG
	itself   bool             // of unpack: the file is no archive
	more     bool             // of unpack: there are more members after these
	pages    int              // of draw: pages of the PDF
	blank    []int            // of read: pages of a PDF, from 1, that have drawings and no letters
	leaves   bool             // the worker must not be used again
	grown    int64            // bytes of memory that the worker keeps beyond those of its start
}

var errFrame = errors.New("documents: a message between processes is damaged")

// readFrame reads one frame and returns its payload. It fails if the payload has more than `most` bytes, and returns
// io.EOF if the input ends before the frame, another error if it ends within.
func readFrame(in io.Reader, most int) ([]byte, error) {
	length, err := readLength(in, most)
	if err != nil {
		return nil, err
	}
	return readPayload(in, length)
}

// readLength reads the head of a frame and returns the length of its payload in bytes. It fails if that is more
// than `most`. It returns io.EOF if the input ends before the frame, and io.ErrUnexpectedEOF if it ends within the
// head.
func readLength(in io.Reader, most int) (int, error) {
	var head [8]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, err
	}
	length := binary.LittleEndian.Uint64(head[:])
	if length > uint64(most) {
		return 0, fmt.Errorf("documents: a message of %d bytes between processes, more than %d", length, most)
	}
	return int(length), nil
}

// readPayload reads the payload of a frame, of the length that readLength returned. It fails if the input ends early.
func readPayload(in io.Reader, length int) ([]byte, error) {
	payload := make([]byte, length)
	if _, err := io.ReadFull(in, payload); err != nil {
		return nil, fmt.Errorf("documents: a message between processes ends early: %w", err)
	}
	return payload, nil
}

// smallFrame is the largest payload, in bytes, of a frame that is written with a single call.
const smallFrame = 64 << 10

// writeFrame writes one frame, whose payload is the concatenation of the parts, with a single call of out.Write if
// it has at most smallFrame bytes. Errors are those of out; a part of the frame may be written then.
func writeFrame(out io.Writer, parts ...[]byte) error {
	length := 0
	for _, part := range parts {
		length += len(part)
	}
	frame := binary.LittleEndian.AppendUint64(nil, uint64(length))
	if length <= smallFrame { // one call of the system, and one time that the other process wakes up
		for _, part := range parts {
			frame = append(frame, part...)
		}
		parts = nil
	}
	if _, err := out.Write(frame); err != nil {
		return err
	}
	for _, part := range parts {
		if _, err := out.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// encoder appends values to the payload b. A decoder reads them in the same order.
type encoder struct{ b []byte }

// number appends a varint.
func (e *encoder) number(n int) { e.b = binary.AppendVarint(e.b, int64(n)) }

// flag appends one byte: 1 for true, 0 for false.
func (e *encoder) flag(set bool) {
	n := byte(0)
	if set {
		n = 1
	}
	e.b = append(e.b, n)
}

// text appends the length of a string and its bytes.
func (e *encoder) text(s string) {
	e.number(len(s))
	e.b = append(e.b, s...)
}

// texts appends the number of strings and then each of them.
func (e *encoder) texts(all []string) {
	e.number(len(all))
	for _, s := range all {
		e.text(s)
	}
}

// decoder reads the values that an encoder appended, in the same order. If the payload is damaged or too short, err is
// set to errFrame. Callers read all values and look at err at the end: the values are zero or meaningless then.
type decoder struct {
	b   []byte
	err error
}

// number reads a varint; 0 after an error.
func (d *decoder) number() int {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.b, d.err = nil, errFrame
		return 0
	}
	d.b = d.b[size:]
	return int(n)
}

// flag reads a boolean. At the end of the payload it sets d.err and returns false.
func (d *decoder) flag() bool {
	if len(d.b) == 0 {
		d.err = errFrame
		return false
	}
	set := d.b[0] == 1
	d.b = d.b[1:]
	return set
}

// count reads the length of a list or string. A length that is negative or more than the bytes left is an error, and 0
// is returned, so that a damaged payload never makes the caller allocate more than its own size.
func (d *decoder) count() int {
	n := d.number()
	if n < 0 || n > len(d.b) {
		d.b, d.err = nil, errFrame
		return 0
	}
	return n
}

// bytes reads a length and returns so many bytes: a slice of the payload, not a copy. After an error it is empty.
func (d *decoder) bytes() []byte {
	n := d.count()
	b := d.b[:n:n]
	d.b = d.b[n:]
	return b
}

// text reads a string; "" after an error.
func (d *decoder) text() string { return string(d.bytes()) }

// texts reads a list of strings; nil if it is empty.
func (d *decoder) texts() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	all := make([]string, n)
	for i := range all {
		all[i] = d.text()
	}
	return all
}

// size returns an upper bound for the length of the request's frame, in bytes.
func (r *request) size() int {
	const others = 1 << 10
	texts := len(r.file.Name) + len(r.file.Type) + len(r.file.Encoding) + len(r.mediaType) + len(r.mark)
	return len(r.file.Data) + texts + others
}

// writeRequest writes a request to out as one frame. It fails only if out does.
func writeRequest(out io.Writer, r *request) error {
	var e encoder
	e.flag(r.unpack)
	e.number(r.skip)
	e.number(r.draw)
	e.number(r.dpi)
	e.number(r.words)
	e.number(r.pages.part)
	e.number(r.pages.parts)
	e.flag(r.layOut)
	l := r.limits
	for _, n := range []int{
		int(l.FileBytes), int(l.UnpackedBytes), l.TextBytes, l.Blocks, int(l.Time), l.Depth, l.Members,
	} {
		e.number(n)
	}
	e.text(r.file.Name)
	e.text(r.file.Type)
	e.text(r.file.Encoding)
	e.text(r.mediaType)
	e.text(r.mark)
	e.number(len(r.file.Data))
	return writeFrame(out, e.b, r.file.Data)
}

// decodeRequest returns the request that writeRequest wrote into a payload. The data of its file is a slice of the
// payload, not a copy. The request must not be used if the error is not nil.
func decodeRequest(payload []byte) (*request, error) {
	d := decoder{b: payload}
	r := &request{unpack: d.flag(), skip: d.number(), draw: d.number(), dpi: d.number(), words: d.number()}
	r.pages = pageRange{d.number(), d.number()}
	r.layOut = d.flag()
	r.limits = Limits{
		FileBytes: int64(d.number()), UnpackedBytes: int64(d.number()), TextBytes: d.number(), Blocks: d.number(),
		Time: time.Duration(d.number()), Depth: d.number(), Members: d.number(),
	}
	r.file = Input{Name: d.text(), Type: d.text(), Encoding: d.text()}
	r.mediaType = d.text()
	r.mark = d.text()
	r.file.Data = d.bytes()
	return r, d.err
}

// writeAnswer writes an answer to out as one frame. It fails only if out does.
func writeAnswer(out io.Writer, a *answer) error {
	var e encoder
	e.flag(a.leaves)
	e.number(int(a.grown))
	e.flag(a.refused != nil)
	if a.refused != nil {
		e.text(string(a.refused.Reason))
		e.text(a.refused.Error())
	}
	e.flag(a.itself)
	e.flag(a.more)
	e.number(a.pages)
	e.number(len(a.blank))
	for _, page := range a.blank {
		e.number(page)
	}
	e.flag(a.document != nil)
	if a.document != nil {
		e.document(a.document)
	}
	e.number(len(a.members))
	for _, m := range a.members {
		e.text(m.Name)
		e.number(len(m.Data))
	}
	parts := [][]byte{e.b}
	for _, m := range a.members {
		parts = append(parts, m.Data)
	}
	return writeFrame(out, parts...)
}

// decodeAnswer returns the answer that writeAnswer wrote into a payload. The data of its members are slices of the
// payload, not copies. The answer must not be used if the error is not nil.
func decodeAnswer(payload []byte) (*answer, error) {
	d := decoder{b: payload}
	a := &answer{leaves: d.flag(), grown: int64(d.number())}
	if d.flag() {
		a.refused = &UnreadableError{Reason: Reason(d.text()), Detail: d.text()}
	}
	a.itself, a.more = d.flag(), d.flag()
	a.pages = d.number()
	a.blank = make([]int, d.count())
	for i := range a.blank {
		a.blank[i] = d.number()
	}
	if d.flag() {
		a.document = d.document()
	}
	sizes := make([]int, d.count())
	a.members = make([]Member, len(sizes))
	for i := range sizes {
		a.members[i].Name = d.text()
		sizes[i] = d.number()
	}
	for i, n := range sizes {
		if n < 0 || n > len(d.b) {
			return nil, errFrame
		}
		a.members[i].Data, d.b = d.b[:n:n], d.b[n:]
	}
	return a, d.err
}

// document appends the encoding of a document to e.b, in the order in which decoder.document reads it. Headings and
// headers that several blocks or pieces share are written once.
func (e *encoder) document(doc *Document) {
	e.text(doc.Title)
	e.text(doc.MediaType)
	e.text(doc.Text)
	e.number(doc.Pages)
	e.texts(doc.Warnings)
	var shared []string
	at := map[string]int{}
	index := func(s string) int {
		n, known := at[s]
		if !known {
			n = len(shared)
			at[s] = n
			shared = append(shared, s)
		}
		return n
	}
	index("")
	var blocks, pieces encoder
	blocks.number(len(doc.Blocks))
	for _, b := range doc.Blocks {
		for _, n := range []int{int(b.Kind), b.Level, index(b.Header), b.Page, b.PageEnd, b.Begin, b.End} {
			blocks.number(n)
		}
	}
	pieces.number(doc.cutAt)
	pieces.number(len(doc.pieces))
	for i, p := range doc.pieces {
		pieces.number(index(p.Lead))
		pieces.number(p.Begin)
		pieces.number(p.End)
		pieces.number(p.Page)
		pieces.number(p.PageEnd)
		same := i > 0 && slices.Equal(p.Headings, doc.pieces[i-1].Headings)
		pieces.flag(same)
		if same {
			continue
		}
		pieces.number(len(p.Headings))
		for _, h := range p.Headings {
			pieces.number(index(h))
		}
	}
	e.texts(shared)
	e.b = append(append(e.b, blocks.b...), pieces.b...)
}

// document reads a document. If it is damaged, or a block or piece lies outside the text, it sets d.err and returns
// nil. Pieces with the same headings share them.
func (d *decoder) document() *Document {
	doc := &Document{Title: d.text(), MediaType: d.text(), Text: d.text(), Pages: d.number(), Warnings: d.texts()}
	shared := d.texts()
	sharedAt := func() string {
		n := d.number()
		if n < 0 || n >= len(shared) {
			d.err = errFrame
			return ""
		}
		return shared[n]
	}
	within := func(begin, end int) {
		if begin < 0 || end < begin || end > len(doc.Text) {
			d.err = errFrame
		}
	}
	doc.Blocks = make([]Block, d.count())
	for i := range doc.Blocks {
		doc.Blocks[i] = Block{
			Kind: Kind(d.number()), Level: d.number(), Header: sharedAt(), Page: d.number(), PageEnd: d.number(),
			Begin: d.number(), End: d.number(),
		}
		b := &doc.Blocks[i]
		if within(b.Begin, b.End); b.Kind < Heading || b.Kind > Note {
			d.err = errFrame
		}
	}
	doc.cutAt = d.number()
	doc.pieces = make([]Piece, d.count())
	for i := range doc.pieces {
		doc.pieces[i] = Piece{
			Lead:    sharedAt(),
			Begin:   d.number(),
			End:     d.number(),
			Page:    d.number(),
			PageEnd: d.number(),
		}
		p := &doc.pieces[i]
		within(p.Begin, p.End)
		if same := d.flag(); same && i > 0 {
			p.Headings = doc.pieces[i-1].Headings
			continue
		}
		n := d.count()
		if n > 0 {
			p.Headings = make([]string, n)
		}
		for j := range p.Headings {
			p.Headings[j] = sharedAt()
		}
	}
	if d.err != nil {
		return nil
	}
	return doc
}
