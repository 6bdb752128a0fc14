package documents

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"example.org/conclave/internal/corpus"
)

// Options say how files become passages.
type Options struct {
	Limits Limits
	Pool   *Pool  // of the processes that read; nil: files are read in this one (NewExtractor)
	Group  string // of those who wait for a process, such as a collection
	Words  int    // that a passage usually has (Cut)
	// Encoding is that of all texts; "": of each it is told by itself.
	Encoding string
	// GitIgnore and Owner are those of Walking.
	GitIgnore bool
	Owner     Owner
	// Failed is told of each file that was not read, and why; skipped ones (links, names
	// that begin with a dot) too, with a *SkippedError. Nil: nobody.
	Failed func(path string, err error)
	// Warned is told what was left out of a file that was read. Nil: nobody.
	Warned func(path, warning string)
}

// Extractor returns an Extractor by the options.
func (o Options) Extractor() *Extractor {
	r := NewExtractor(o.Limits, o.Pool).For(o.Group, o.Words)
	r.encoding = o.Encoding
	return r
}

// SkippedError says why a file was passed over without a look.
type SkippedError struct{ Why string }

func (e *SkippedError) Error() string { return "left out: " + e.Why }

// Stream gives the passages of files one after the other, in the order of their paths. It
// is not safe for concurrent use, but for Progress.
type Stream struct {
	ctx     context.Context
	options Options
	reader  *Extractor
	files   []File
	at      int
	queue   []corpus.Passage
	place   corpus.Place
	roots   []string // of files
	done    atomic.Int64
	total   int64
}

// Open finds the files at the roots, which are files, archives and folders.
func Open(ctx context.Context, roots []string, o Options) (*Stream, error) {
	s := &Stream{ctx: ctx, options: o}
	walking := Walking{Limits: o.Limits, GitIgnore: o.GitIgnore, Owner: o.Owner, Skipped: func(_ string, skip Skip) {
		s.failed(skip.Path, &SkippedError{skip.Why})
	}}
	err := walking.Files(ctx, roots, func(root string, f File) error {
		s.files = append(s.files, f)
		s.roots = append(s.roots, root)
		s.total += f.Size
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.reader = o.Extractor()
	return s, nil
}

func (s *Stream) failed(path string, err error) {
	if s.options.Failed != nil {
		s.options.Failed(path, err)
	}
}

// Next returns the next passage, or io.EOF behind the last. Files that cannot be read are
// told to Options.Failed, and passed over.
func (s *Stream) Next() (corpus.Passage, error) {
	for len(s.queue) == 0 {
		if err := s.ctx.Err(); err != nil {
			return corpus.Passage{}, err
		}
		if s.at == len(s.files) {
			return corpus.Passage{}, io.EOF
		}
		f := s.files[s.at]
		s.at++
		mark, err := RootOf(s.roots[s.at-1])
		if err != nil {
			return corpus.Passage{}, err
		}
		if f.Renamed != "" && s.options.Warned != nil {
			s.options.Warned(f.Path, f.Renamed)
		}
		data, err := f.Data()
		if err == nil {
			err = s.reader.Expand(
				s.ctx,
				f.Path,
				data,
				func(m Member) error { return s.read(m, mark, f.ModTime, s.options.Limits.Depth) },
			)
		}
		s.done.Add(f.Size)
		if s.ctx.Err() != nil {
			return corpus.Passage{}, s.ctx.Err()
		}
		if err != nil {
			s.failed(f.Path, err)
		}
	}
	p := s.queue[0]
	s.queue = s.queue[1:]
	s.place = corpus.Place{File: p.ID[:strings.LastIndexByte(p.ID, '#')]}
	return p, nil
}

// read reads one file and what is attached to it. Only an error of the context is
// returned: a member of an archive that cannot be read does not keep others from it.
func (s *Stream) read(m Member, mark string, modified time.Time, depth int) error {
	d, attached, err := s.reader.Read(s.ctx, Input{Name: m.Name, Data: m.Data})
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case err != nil:
		s.failed(m.Name, err)
	default:
		for _, warning := range d.Warnings {
			if s.options.Warned != nil {
				s.options.Warned(m.Name, warning)
			}
		}
		about := About{ID: m.Name, Root: mark, Modified: modified}
		s.queue = append(s.queue, PassagesOf(about, d, m.Data, s.options.Words)...)
	}
	for _, a := range attached {
		if depth == 0 {
			s.failed(m.Name+"/"+a.Name, TooDeep(s.options.Limits))
			continue
		}
		if err := s.reader.Expand(s.ctx, m.Name+"/"+a.Name, a.Data,
			func(inner Member) error { return s.read(inner, mark, modified, depth-1) }); err != nil {
			if s.ctx.Err() != nil {
				return s.ctx.Err()
			}
			s.failed(m.Name+"/"+a.Name, err)
		}
	}
	return nil
}

// TooDeep returns why what is attached to mails that are attached to mails is not read.
func TooDeep(limits Limits) error {
	return unreadable(TooLarge, nil, "mails are nested more than %d deep in it", limits.Depth)
}

// Place returns the document of the passage that Next returned last.
func (s *Stream) Place() corpus.Place { return s.place }

// Progress returns how many bytes of files were read of how many.
func (s *Stream) Progress() (done, total int64) { return s.done.Load(), s.total }

// Close ends the stream. The pool of its options stays open.
func (s *Stream) Close() error { return nil }
