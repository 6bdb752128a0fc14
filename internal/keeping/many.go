package keeping

import (
	"context"
	"errors"
	"io/fs"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// Many puts files into a collection, one after the other, with the members of archives and the attachments of mails. A
// file that fails is reported to Failed, and the others go on. It is not safe for concurrent use.
type Many struct {
	To     Target
	Reader *documents.Extractor // unpacks archives
	About  documents.About      // of each document, but for its id
	// Encoding is the known encoding of all texts among the files; "": each is detected.
	Encoding string
	// Failed is told of each file that was not taken, and why.
	Failed func(path string, err error)
	// Done counts documents.
	Done SyncReport

	found documents.FoundFile // the file of PutFound; zero: there is none
}

// Put puts one file as the document id, or the members of an archive as documents below that id, and counts them in
// Done. A failure of the file alone goes to Failed; the error returned, such as ctx's or the store's, means that no
// further file can be put.
func (m *Many) Put(ctx context.Context, id string, data []byte) error {
	err := m.Reader.Expand(ctx, id, data, func(inner documents.Member) error {
		return m.member(ctx, inner, m.Reader.Limits().Depth)
	})
	return m.failed(ctx, id, err)
}

// PutFound puts a file that was found, such as a page of a site, as Put does. No copy of a page is kept. It fails if
// the file cannot be read and m stops at failures, or if Put fails.
func (m *Many) PutFound(ctx context.Context, f documents.FoundFile) error {
	data, err := f.Data()
	if err != nil {
		return m.failed(ctx, f.Path, err)
	}
	m.found = f
	m.About.Source = f.Source
	m.About.Modified = f.ModTime
	return m.Put(ctx, f.Path, data)
}

// Refuse counts a file as failed and reports it to Failed. err says why.
func (m *Many) Refuse(id string, err error) {
	m.Done.Failed++
	m.Failed(id, err)
}

// failed reports err to Refuse if it is about one file only, and returns nil; it returns other errors and ctx's.
func (m *Many) failed(ctx context.Context, id string, err error) error {
	if err == nil || ctx.Err() != nil || !ofOneFile(err) {
		return errors.Join(err, ctx.Err())
	}
	m.Refuse(id, err)
	return nil
}

// ofOneFile reports whether an error is about one file only, so that the next file can be tried.
func ofOneFile(err error) bool {
	var unreadable *documents.UnreadableError
	var field *corpus.FieldError
	var refused *fileError
	var missing *fs.PathError
	return errors.As(err, &unreadable) || errors.As(err, &field) || errors.As(err, &refused) ||
		errors.As(err, &missing) || errors.Is(err, store.ErrTooMuch)
}

// member puts one file as a document, and the attachments of a mail as documents below it, up to depth levels deep. A
// failure of one file goes to Failed, and the error is nil; an error means that no further file can be put.
func (m *Many) member(ctx context.Context, file documents.Member, depth int) error {
	about := m.About
	about.ID = file.Name
	put := DocumentFile{About: about, Data: file.Data, Encoding: m.Encoding, Uncopied: m.found.Source != ""}
	if file.Name == m.found.Path {
		put.Type = m.found.Type
	}
	put.Attached = func(a documents.Member) error {
		name := file.Name + "/" + a.Name
		if depth == 0 {
			m.Refuse(name, documents.TooDeep(m.Reader.Limits()))
			return nil
		}
		err := m.Reader.Expand(ctx, name, a.Data, func(inner documents.Member) error {
			return m.member(ctx, inner, depth-1)
		})
		return m.failed(ctx, name, err)
	}
	r, err := m.To.Put(ctx, put)
	if err != nil {
		return m.failed(ctx, file.Name, err)
	}
	m.Done.Seq = max(m.Done.Seq, r.Seq)
	switch r.Outcome {
	case store.Created:
		m.Done.Added++
	case store.Unchanged:
		m.Done.Unchanged++
	default:
		m.Done.Replaced++
	}
	return nil
}
