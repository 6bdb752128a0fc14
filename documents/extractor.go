package documents

import (
	"context"
	"errors"
	"strings"
)

// Input is a file to read.
type Input struct {
	Name string // its path, whose ending helps Detect
	Type string // the declared media type; "": none is declared
	// Encoding is the known encoding of a text; "": it is detected from the text and from the charset in Type.
	Encoding string
	Data     []byte
}

// Member is a file inside a file: a part of an archive, or attached to a mail.
type Member struct {
	Name string
	Data []byte
}

// Extractor reads files of any supported format into Documents. It is safe for concurrent use.
type Extractor struct {
	limits Limits
	pool   *Pool
	group  string
	words  int
	// encoding is that of texts whose Input.Encoding is ""; "": it is detected for each text.
	encoding string
}

// NewExtractor returns an Extractor that reads files with the processes of a pool; the caller closes the pool. If pool
// is nil, files are read in this process, without PDF and without bounds of time or memory: use that only for trusted
// files, such as the program's own guide, and for tests.
func NewExtractor(limits Limits, pool *Pool) *Extractor {
	return &Extractor{limits: limits, pool: pool}
}

// For returns a copy of the Extractor whose requests wait in the queue of a group, such as a collection (Pool). Its
// documents are already cut for passages of about `words` words, so that PassagesOf need not cut them; 0: not cut.
// A document that gives too many passages is then refused by Read.
func (r *Extractor) For(group string, words int) *Extractor {
	copied := *r
	copied.group, copied.words = group, words
	return &copied
}

// Limits returns the limits that NewExtractor got.
func (r *Extractor) Limits() Limits { return r.limits }

// Encoding returns the encoding that all texts are read in; "": it is detected for each.
func (r *Extractor) Encoding() string { return r.encoding }

// Read returns the document of one file that is not an archive; it waits for a process of the pool. attached are
// the files attached to a mail, unread; they are returned even with an error if the mail itself has no text. The
// error is an *UnreadableError if the file is to blame, also if it is empty, and ctx's error if ctx ends first.
func (r *Extractor) Read(ctx context.Context, in Input) (d *Document, attached []Member, err error) {
	if int64(len(in.Data)) > r.limits.FileBytes {
		return nil, nil, tooLargeFile(int64(len(in.Data)), r.limits)
	}
	if len(in.Data) == 0 {
		return nil, nil, unreadable(NoText, nil, "it is empty")
	}
	if in.Encoding == "" {
		in.Encoding = r.encoding
	}
	mediaType := Detect(in.Data, in.Name, in.Type)
	if strings.HasPrefix(mediaType, "image/") {
		d, err := r.readPicture(ctx, in, mediaType)
		return d, nil, err
	}
	if by, ok := r.converter(in.Name); ok && convertible(mediaType) {
		return r.readConverted(ctx, by, in, mediaType)
	}
	return r.readFile(ctx, in, mediaType)
}

// smallFile is how many bytes a file has at most that is read together with others, and smallFiles how many these
// have.
const (
	smallFile  = 32 << 10
	smallFiles = 256 << 10
)

// readSmall reads several small files with one request to a process, and returns their documents by file name.
// Files that are not in the result still have to be read with Read: those that are not small, are archives, mails,
// PDFs or pictures, need a converter, or could not be read. The result is nil if fewer than two qualify or the
// request failed. r must have a pool.
func (r *Extractor) readSmall(ctx context.Context, files []Input) map[string]*Document {
	var requests []*request
	for _, in := range files {
		mediaType := Detect(in.Data, in.Name, in.Type)
		_, converted := r.converter(in.Name)
		if len(in.Data) == 0 || len(in.Data) > smallFile || packed(in.Data, in.Name) || converted ||
			mediaType == PDF || mediaType == Mail || mediaType == Outlook ||
			strings.HasPrefix(mediaType, "image/") {
			continue
		}
		if in.Encoding == "" {
			in.Encoding = r.encoding
		}
		requests = append(requests, &request{limits: r.limits, words: r.words, file: in, mediaType: mediaType})
	}
	if len(requests) < 2 {
		return nil
	}
	answers, err := r.pool.askMany(ctx, r.group, requests)
	if err != nil { // each is read by itself, so that the one to blame is named
		return nil
	}
	read := map[string]*Document{}
	for i, a := range answers {
		if a.refused == nil && len(a.blank) == 0 {
			read[requests[i].file.Name] = a.document
		}
	}
	return read
}

// converter returns the program configured for the ending of a file's name; ok is false if there is none.
func (r *Extractor) converter(name string) (by Converter, ok bool) {
	if r.pool == nil {
		return by, false
	}
	return r.pool.options.Converters.find(name)
}

// readFile reads a file without a converter, and recognises the letters of a PDF's scanned pages. If mediaType is "",
// it is detected. attached and err are those of Read. Pages that cannot be recognised are an error, too.
func (r *Extractor) readFile(
	ctx context.Context,
	in Input,
	mediaType string,
) (d *Document, attached []Member, err error) {
	request := &request{limits: r.limits, words: r.words, file: in, mediaType: mediaType}
	ask := r.ask
	if mediaType == PDF {
		ask = r.askPDF
	}
	a, err := ask(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	if len(a.blank) > 0 {
		if err := r.recogniseBlank(ctx, request, a); err != nil {
			return nil, nil, err
		}
	}
	if a.refused != nil {
		return nil, a.members, a.refused
	}
	return a.document, a.members, nil
}

// ask returns the answer of the pool to a request, or without a pool that of a parser in this process. The error is
// that of the pool or of ctx; a file that cannot be read is answer.refused.
func (r *Extractor) ask(ctx context.Context, request *request) (*answer, error) {
	if r.pool == nil {
		return (&fileParser{}).answer(ctx, request), nil
	}
	return r.pool.ask(ctx, r.group, request)
}

// Expand calls visit for each file inside an archive or a mailbox, which the pool unpacks some files at a time. Any
// other file is visited itself, with its name. A text that is too long to read at once is visited in several parts
// (textParts). It fails if visit does, ctx ends, or the file cannot be read (*UnreadableError); files visited before an
// error stay visited.
func (r *Extractor) Expand(ctx context.Context, name string, data []byte, visit func(Member) error) error {
	visit = r.visitingParts(visit)
	if r.pool == nil {
		return Expand(name, data, r.limits, visit)
	}
	if !packed(data, name) {
		return visit(Member{Name: name, Data: data})
	}
	request := &request{unpack: true, limits: r.limits, file: Input{Name: name, Data: data}}
	for {
		a, err := r.pool.ask(ctx, r.group, request)
		if err != nil {
			return err
		}
		if a.itself {
			return visit(Member{Name: name, Data: data})
		}
		for i, m := range a.members {
			a.members[i].Data = nil // for the next one
			if err := visit(m); err != nil {
				return err
			}
		}
		if a.refused != nil {
			return a.refused
		}
		if !a.more {
			return nil
		}
		request.skip += len(a.members)
	}
}

// ReasonOf returns the Reason of an *UnreadableError; "" for nil and for other errors.
func ReasonOf(err error) Reason {
	var u *UnreadableError
	if errors.As(err, &u) {
		return u.Reason
	}
	return ""
}
