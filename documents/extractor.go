package documents

import (
	"context"
	"errors"
	"strings"
)

// Input is a file to read.
type Input struct {
	Name string // its path; its ending helps to tell the type
	Type string // the media type that somebody declared; "" where nobody did
	// Encoding is that of a text, which somebody knows; "": it is told by the text, and by what Type declares.
	Encoding string
	Data     []byte
}

// Member is a file inside a file: a part of an archive, or attached to a mail.
type Member struct {
	Name string
	Data []byte
}

// Extractor reads files. Several may be read at once.
type Extractor struct {
	limits Limits
	pool   *Pool
	group  string
	words  int
	// encoding is that of texts for which Input.Encoding names none; "": it is told by each text
	encoding string
}

// NewExtractor returns an Extractor whose files are read by the processes of a pool, which is not
// closed with it. Where pool is nil, files are read in this process, without a bound of time or memory
// and without PDF: that is for files of the program's own, such as its guide, and for tests.
func NewExtractor(limits Limits, pool *Pool) *Extractor {
	return &Extractor{limits: limits, pool: pool}
}

// For returns an Extractor whose files wait for a process with those of a group, such as a collection,
// and are cut there into passages of so many words (PassagesOf).
func (r *Extractor) For(group string, words int) *Extractor {
	of := *r
	of.group, of.words = group, words
	return &of
}

// Limits returns the bounds of what is read.
func (r *Extractor) Limits() Limits { return r.limits }

// Read reads one file that is not an archive. Errors are *UnreadableError where the file
// is to blame. attached are the files inside a mail.
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

// readSmall reads those of some small files together that need nothing but a process that reads them, and
// returns the documents by the files' names. The others, and those that are not read, are left to Read.
func (r *Extractor) readSmall(ctx context.Context, files []Input) map[string]*Document {
	var requests []*request
	for _, in := range files {
		mediaType := Detect(in.Data, in.Name, in.Type)
		_, converted := r.converter(in.Name)
		if len(in.Data) == 0 || len(in.Data) > smallFile || packed(in.Data, in.Name) || converted ||
			mediaType == PDF || mediaType == Mail || strings.HasPrefix(mediaType, "image/") {
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

// converter returns the pool's converter of a file; ok is false where there is none.
func (r *Extractor) converter(name string) (by Converter, ok bool) {
	if r.pool == nil {
		return by, false
	}
	return r.pool.options.Converters.find(name)
}

// readFile reads a file of a format that this program reads; a media type of "" is told by the file.
func (r *Extractor) readFile(
	ctx context.Context,
	in Input,
	mediaType string,
) (d *Document, attached []Member, err error) {
	request := &request{limits: r.limits, words: r.words, file: in, mediaType: mediaType}
	a, err := r.ask(ctx, request)
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

// ask has a request answered by the pool, or in this process where there is none.
func (r *Extractor) ask(ctx context.Context, request *request) (*answer, error) {
	if r.pool == nil {
		return (&fileParser{}).answer(ctx, request), nil
	}
	return r.pool.ask(ctx, r.group, request)
}

// Expand calls visit for each file inside an archive or a mailbox, as the function Expand does. The
// archive is unpacked by the pool, some files at a time. Long texts come in parts (textParts).
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

// ReasonOf returns why a file was not read; "" where the error is another.
func ReasonOf(err error) Reason {
	var u *UnreadableError
	if errors.As(err, &u) {
		return u.Reason
	}
	return ""
}
