package keeping

import (
	"context"
	"errors"
	"io/fs"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// Many puts many files, one after the other, archives and mails with what is in them. A
// file that cannot be taken does not keep others from it.
type Many struct {
	To     Target
	Reader *documents.Extractor // unpacks archives
	About  documents.About      // of each document, but for its id
	// Failed is told of each file that was not taken, and why.
	Failed func(path string, err error)
	// Done counts documents.
	Done Synced
}

// Put puts a file under an id, or what is in it under ids below that. Only an error that
// concerns more than the file is returned.
func (m *Many) Put(ctx context.Context, id string, data []byte) error {
	err := m.Reader.Expand(ctx, id, data, func(inner documents.Member) error {
		return m.member(ctx, inner, m.Reader.Limits().Depth)
	})
	return m.failed(ctx, id, err)
}

// Refuse notes that a file was not taken.
func (m *Many) Refuse(id string, err error) {
	m.Done.Failed++
	m.Failed(id, err)
}

func (m *Many) failed(ctx context.Context, id string, err error) error {
	if err == nil || ctx.Err() != nil || !ofOneFile(err) {
		return errors.Join(err, ctx.Err())
	}
	m.Refuse(id, err)
	return nil
}

// ofOneFile reports whether an error concerns one file alone.
func ofOneFile(err error) bool {
	var unreadable *documents.UnreadableError
	var field *corpus.FieldError
	var refused *fileError
	var missing *fs.PathError
	return errors.As(err, &unreadable) || errors.As(err, &field) || errors.As(err, &refused) ||
		errors.As(err, &missing) || errors.Is(err, store.ErrTooMuch)
}

func (m *Many) member(ctx context.Context, file documents.Member, depth int) error {
	about := m.About
	about.ID = file.Name
	r, err := m.To.Put(ctx, File{About: about, Data: file.Data, Attached: func(a documents.Member) error {
		name := file.Name + "/" + a.Name
		if depth == 0 {
			m.Refuse(name, documents.TooDeep(m.Reader.Limits()))
			return nil
		}
		err := m.Reader.Expand(ctx, name, a.Data, func(inner documents.Member) error {
			return m.member(ctx, inner, depth-1)
		})
		return m.failed(ctx, name, err)
	}})
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
