package documents

import (
	"context"
	"io"
	"strings"
	"sync"
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

// Stream gives the passages of files one after the other, in the order of their paths. The processes of its
// pool read some files ahead. It is not safe for concurrent use, but for Progress.
type Stream struct {
	ctx     context.Context
	stop    context.CancelFunc
	options Options
	reader  *Extractor
	files   []File
	roots   []string // of files
	at      int      // files whose passages were given, or are in queue
	queue   []corpus.Passage
	place   corpus.Place
	done    atomic.Int64
	total   int64

	ahead   []chan *fileReading // of the files from at on that are being read, or were
	reading sync.WaitGroup
	bytes   int64 // of these files
}

// Open finds the files at the roots, which are files, archives and folders.
func Open(ctx context.Context, roots []string, o Options) (*Stream, error) {
	s := &Stream{options: o}
	s.ctx, s.stop = context.WithCancel(ctx)
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
		s.stop()
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
		s.readAhead()
		r := <-s.ahead[0]
		s.ahead = s.ahead[1:]
		size := s.files[s.at].Size
		s.at++
		s.bytes -= size
		s.done.Add(size)
		if s.ctx.Err() != nil {
			return corpus.Passage{}, s.ctx.Err()
		}
		for _, tell := range r.told {
			tell()
		}
		if r.err != nil {
			return corpus.Passage{}, r.err
		}
		s.queue = r.passages
	}
	p := s.queue[0]
	s.queue = s.queue[1:]
	s.place = corpus.Place{File: p.ID[:strings.LastIndexByte(p.ID, '#')]}
	return p, nil
}

// aheadBytes bounds the files that are read ahead together; a larger one is read alone.
const aheadBytes = 32 << 20

// readAhead begins to read files as long as processes, and room for what they find, are there. Small files that
// follow each other are read together.
func (s *Stream) readAhead() {
	most := 1
	together := 1
	if s.options.Pool != nil {
		together = mostAtOnce
		most += 2 * s.options.Pool.Workers() * together
	}
	for len(s.ahead)+together <= most && s.at+len(s.ahead) < len(s.files) {
		var group []*fileReading
		bytes := int64(0)
		for next := s.at + len(s.ahead); next < len(s.files) && len(group) < together; next++ {
			f := s.files[next]
			if len(group) > 0 && (f.Size > smallFile || bytes+f.Size > smallFiles) ||
				len(s.ahead) > 0 && s.bytes+f.Size > aheadBytes {
				break
			}
			r := &fileReading{Stream: s, file: f, root: s.roots[next], done: make(chan *fileReading, 1)}
			group = append(group, r)
			s.ahead = append(s.ahead, r.done)
			bytes += f.Size
			s.bytes += f.Size
			if f.Size > smallFile {
				break
			}
		}
		if len(group) == 0 {
			return
		}
		s.reading.Go(func() { readGroup(group) })
	}
}

// readGroup reads files that follow each other.
func readGroup(group []*fileReading) {
	var small []Input
	for _, r := range group {
		r.data, r.err = r.file.Data()
		if r.err == nil {
			small = append(small, Input{Name: r.file.Path, Data: r.data})
		}
	}
	s := group[0].Stream
	var read map[string]*Document
	if s.options.Pool != nil && len(small) > 1 {
		read = s.reader.readSmall(s.ctx, small)
	}
	for _, r := range group {
		r.read(read[r.file.Path])
		r.done <- r
	}
}

// fileReading is what was read of one file. told are calls of the options' functions, which are made when it is
// the file's turn.
type fileReading struct {
	*Stream
	file     File
	root     string
	data     []byte
	done     chan *fileReading // it is sent there when it was read
	passages []corpus.Passage
	told     []func()
	err      error // that concerns more than the file
}

func (r *fileReading) failed(path string, err error) {
	r.told = append(r.told, func() { r.Stream.failed(path, err) })
}

func (r *fileReading) warned(path, warning string) {
	if r.options.Warned != nil {
		r.told = append(r.told, func() { r.options.Warned(path, warning) })
	}
}

// read reads the file, or what is in it. whole is the document of the file where that was read already; nil: it
// was not.
func (r *fileReading) read(whole *Document) {
	f := r.file
	failed := r.err
	mark, err := RootOf(r.root)
	r.err = err
	if err != nil {
		return
	}
	if f.Renamed != "" {
		r.warned(f.Path, f.Renamed)
	}
	switch {
	case failed != nil:
		r.failed(f.Path, failed)
		return
	case whole != nil:
		r.took(Member{Name: f.Path, Data: r.data}, whole, mark, f.ModTime)
	default:
		err = r.reader.Expand(r.ctx, f.Path, r.data, func(m Member) error {
			return r.member(m, mark, f.ModTime, r.options.Limits.Depth)
		})
		if err != nil {
			r.failed(f.Path, err)
		}
	}
	r.data = nil
}

// took adds the passages of a document that was read.
func (r *fileReading) took(m Member, d *Document, mark string, modified time.Time) {
	for _, warning := range d.Warnings {
		r.warned(m.Name, warning)
	}
	about := About{ID: m.Name, Root: mark, Modified: modified}
	r.passages = append(r.passages, PassagesOf(about, d, m.Data, r.options.Words)...)
}

// member reads one file and what is attached to it. Only an error of the context is
// returned: a member of an archive that cannot be read does not keep others from it.
func (r *fileReading) member(m Member, mark string, modified time.Time, depth int) error {
	d, attached, err := r.reader.Read(r.ctx, Input{Name: m.Name, Data: m.Data})
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case err != nil:
		r.failed(m.Name, err)
	default:
		r.took(m, d, mark, modified)
	}
	for _, a := range attached {
		if depth == 0 {
			r.failed(m.Name+"/"+a.Name, TooDeep(r.options.Limits))
			continue
		}
		if err := r.reader.Expand(r.ctx, m.Name+"/"+a.Name, a.Data,
			func(inner Member) error { return r.member(inner, mark, modified, depth-1) }); err != nil {
			if r.ctx.Err() != nil {
				return r.ctx.Err()
			}
			r.failed(m.Name+"/"+a.Name, err)
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

// Close ends the stream, and the reading of its files. The pool of its options stays open.
func (s *Stream) Close() error {
	s.stop()
	s.reading.Wait()
	return nil
}
