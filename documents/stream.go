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

// Options say how files are found, read and cut into passages.
type Options struct {
	Limits Limits
	Pool   *Pool  // reads the files; nil: this process does (NewExtractor)
	Group  string // whose queue in Pool is used, such as a collection
	Words  int    // usual number of words of a passage (Cut)
	// Encoding is the known encoding of all texts; "": it is detected for each.
	Encoding string
	// Found are files that were found elsewhere, such as pages of a site. Open takes them after those at the roots.
	Found []FoundFile
	// GitIgnore and Owner are those of Walking.
	GitIgnore bool
	Owner     Owner
	// Keep lets documents name their files, so that these can be shown (corpus.DocumentOriginalKey).
	Keep bool
	// Failed is called for each file that was not read, with the reason; for files left out, such as links and hidden
	// files, with a *SkippedError. It may be nil.
	Failed func(path string, err error)
	// Warned is called for what was left out of a file that was read. It may be nil.
	Warned func(path, warning string)
}

// Extractor returns a new Extractor for these options.
func (o Options) Extractor() *Extractor {
	r := NewExtractor(o.Limits, o.Pool).For(o.Group, o.Words)
	r.encoding = o.Encoding
	return r
}

// SkippedError says why a file was left out without being read.
type SkippedError struct{ Why string }

// Error says that the file was left out, and why.
func (e *SkippedError) Error() string { return "left out: " + e.Why }

// Stream returns the passages of many files, one after the other in the order of the files, and reads some files ahead.
// It is not safe for concurrent use, except for Progress.
type Stream struct {
	ctx     context.Context
	stop    context.CancelFunc
	options Options
	reader  *Extractor
	files   []FoundFile
	at      int // index of the next file; the passages of those before are in queue or were returned
	queue   []corpus.Passage
	place   corpus.Place
	done    atomic.Int64
	total   int64

	ahead   []chan *fileReading // the results of files[at:] that are being read or were
	reading sync.WaitGroup
	bytes   int64 // of these files
}

// Open finds the files at the roots, which may be files, archives and folders, and returns a Stream of their
// passages. It reads no file yet. Options.Failed is called for those that are left out. ctx bounds the whole life
// of the Stream. Close it when done. A root that cannot be read is an error.
func Open(ctx context.Context, roots []string, o Options) (*Stream, error) {
	s := &Stream{options: o}
	s.ctx, s.stop = context.WithCancel(ctx)
	walking := Walking{Limits: o.Limits, GitIgnore: o.GitIgnore, Owner: o.Owner, Skipped: func(_ string, skip Skip) {
		s.failed(skip.Path, &SkippedError{skip.Why})
	}}
	err := walking.Files(ctx, roots, func(_ string, f FoundFile) error {
		s.files = append(s.files, f)
		s.total += f.Size
		return nil
	})
	if err != nil {
		s.stop()
		return nil, err
	}
	for _, f := range o.Found {
		s.files = append(s.files, f)
		s.total += f.Size
	}
	s.reader = o.Extractor()
	return s, nil
}

// failed calls Options.Failed, if set.
func (s *Stream) failed(path string, err error) {
	if s.options.Failed != nil {
		s.options.Failed(path, err)
	}
}

// Next returns the next passage, or io.EOF after the last; it blocks until that is read. A file that cannot be read
// is passed to Options.Failed and skipped. It calls Options.Failed and Options.Warned itself. The error is ctx's if
// ctx of Open ends or after Close.
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

// aheadBytes bounds the total size of the files that are being read ahead. A larger file is read alone.
const aheadBytes = 32 << 20

// readAhead starts to read further files in the background, as long as there are processes and aheadBytes allows. Small
// files that follow each other are read together.
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
			r := &fileReading{Stream: s, file: f, done: make(chan *fileReading, 1)}
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

// readGroup reads the files of a group, small ones with one request, and sends each result to its done channel.
func readGroup(group []*fileReading) {
	var small []Input
	for _, r := range group {
		r.data, r.err = r.file.Data()
		if r.err == nil {
			small = append(small, Input{Name: r.file.Path, Type: r.file.Type, Data: r.data})
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

// fileReading is the result of reading one file. told are the delayed calls of Options.Failed and Options.Warned, which
// Next makes when it comes to the file.
type fileReading struct {
	*Stream
	file     FoundFile
	data     []byte
	done     chan *fileReading // receives this fileReading when it is complete
	passages []corpus.Passage
	told     []func()
	err      error // one that ends the stream
}

// failed delays a call of Options.Failed until Next comes to the file.
func (r *fileReading) failed(path string, err error) {
	r.told = append(r.told, func() { r.Stream.failed(path, err) })
}

// warned delays a call of Options.Warned until Next comes to the file.
func (r *fileReading) warned(path, warning string) {
	if r.options.Warned != nil {
		r.told = append(r.told, func() { r.options.Warned(path, warning) })
	}
}

// read turns r.data, the bytes of the file, into r.passages: of the file itself, or if it is an archive of its members.
// whole is the file's document if it was read already (readSmall), else nil. Failures, such as r.err, and warnings are
// kept for Next to report.
func (r *fileReading) read(whole *Document) {
	f := r.file
	failed := r.err
	r.err = nil
	if f.Renamed != "" {
		r.warned(f.Path, f.Renamed)
	}
	switch {
	case failed != nil:
		r.failed(f.Path, failed)
		return
	case whole != nil:
		r.took(Member{Name: f.Path, Data: r.data}, whole, f.ModTime)
	default:
		err := r.reader.Expand(r.ctx, f.Path, r.data, func(m Member) error {
			return r.member(m, f.ModTime, r.options.Limits.Depth)
		})
		if err != nil {
			r.failed(f.Path, err)
		}
	}
	r.data = nil
}

// took adds the passages and warnings of a document that was read from the file m. modified is the time of the file
// on disk.
func (r *fileReading) took(m Member, d *Document, modified time.Time) {
	for _, warning := range d.Warnings {
		r.warned(m.Name, warning)
	}
	about := About{ID: m.Name, Source: r.file.Source, Root: r.file.Mark, Modified: modified}
	if r.options.Keep {
		about.Original = r.file.Original()
	}
	r.passages = append(r.passages, PassagesOf(about, d, m.Data, r.options.Words)...)
}

// member reads a file and those attached to it, up to `depth` mails deep, and adds their passages. A file that
// cannot be read is reported with failed; the error is only ctx's. modified is the time of the file on disk.
func (r *fileReading) member(m Member, modified time.Time, depth int) error {
	in := Input{Name: m.Name, Data: m.Data}
	if m.Name == r.file.Path {
		in.Type = r.file.Type
	}
	d, attached, err := r.reader.Read(r.ctx, in)
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case err != nil:
		r.failed(m.Name, err)
	default:
		r.took(m, d, modified)
	}
	for _, a := range attached {
		if depth == 0 {
			r.failed(m.Name+"/"+a.Name, TooDeep(r.options.Limits))
			continue
		}
		if err := r.reader.Expand(r.ctx, m.Name+"/"+a.Name, a.Data,
			func(inner Member) error { return r.member(inner, modified, depth-1) }); err != nil {
			if r.ctx.Err() != nil {
				return r.ctx.Err()
			}
			r.failed(m.Name+"/"+a.Name, err)
		}
	}
	return nil
}

// TooDeep returns the *UnreadableError for files attached to mails that are nested more than Limits.Depth deep.
func TooDeep(limits Limits) error {
	return unreadable(TooLarge, nil, "mails are nested more than %d deep in it", limits.Depth)
}

// Place returns where the passage that Next returned last is from: the id of its document.
func (s *Stream) Place() corpus.Place { return s.place }

// Progress returns how many bytes of files were read, and the total. It may be called while Next runs.
func (s *Stream) Progress() (done, total int64) { return s.done.Load(), s.total }

// Close stops reading and waits until it has ended. It does not close the pool. The error is always nil.
func (s *Stream) Close() error {
	s.stop()
	s.reading.Wait()
	return nil
}
