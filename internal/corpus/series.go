package corpus

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// Stream returns passages one after the other. It is not safe for concurrent use, except Progress.
type Stream interface {
	// Next returns the next passage, or io.EOF behind the last; see Parser.Next.
	Next() (Passage, error)
	Place() Place                  // of what Next returned last
	Progress() (done, total int64) // bytes; a total of -1 is unknown
	Close() error
}

// Series reads several inputs as one, in the order given. Like a Parser it is
// not safe for concurrent use, except Progress.
type Series struct {
	readers []Stream
	at      atomic.Int32
	place   Place
}

// OpenSeries opens all inputs, so that a wrong name or an unknown format shows before anything is read, and returns
// a reader of their passages one input after the other. Close closes them, also those given as Input.Source. At
// most one input may be standard input ("-"), and one input is needed. After an error all are closed.
func OpenSeries(inputs []Input) (*Series, error) {
	if len(inputs) == 0 {
		return nil, errors.New("nothing to read: name at least one file, or - for standard input")
	}
	s := &Series{}
	stdin := false
	for _, in := range inputs {
		if in.Path == "-" && stdin {
			_ = s.Close()
			return nil, errors.New("standard input (-) is named twice, and can be read once")
		}
		stdin = stdin || in.Path == "-"
		if in.Source != nil {
			s.readers = append(s.readers, in.Source)
			continue
		}
		r, err := Open(in)
		if err != nil {
			_ = s.Close()
			return nil, err
		}
		s.readers = append(s.readers, r)
	}
	return s, nil
}

// Next returns the next passage of the inputs, and io.EOF after the last one. It closes each input at its end. It fails
// if an input cannot be read, holds something that is no passage, or cannot be closed.
func (s *Series) Next() (Passage, error) {
	for {
		at := int(s.at.Load())
		if at == len(s.readers) {
			return Passage{}, io.EOF
		}
		p, err := s.readers[at].Next()
		if err == io.EOF {
			if err := s.readers[at].Close(); err != nil {
				return Passage{}, fmt.Errorf("closing %s: %w", s.place.File, err)
			}
			s.at.Add(1)
			continue
		}
		s.place = s.readers[at].Place()
		return p, err
	}
}

// Place returns the file and line on which the record of the last Next begins; the zero Place before.
func (s *Series) Place() Place { return s.place }

// Progress returns how many bytes of the inputs were read, and how many they have; -1 if that is unknown for one of
// them.
func (s *Series) Progress() (done, total int64) {
	for _, r := range s.readers {
		n, length := r.Progress()
		done += n
		if length < 0 || total < 0 {
			total = -1
		} else {
			total += length
		}
	}
	return done, total
}

// Close closes all inputs and returns their errors joined.
func (s *Series) Close() error {
	var errs []error
	for _, r := range s.readers {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
