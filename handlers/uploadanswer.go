package handlers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
)

// uploadAnswer takes the lines of an upload's answer.
type uploadAnswer interface {
	// add takes lines; size is how many bytes there are by now.
	add(lines ...any) error
	size() int64
	// settle is called after each add, when nobody waits for anything.
	flush() error
	// begun reports whether some of it has been sent.
	begun() bool
	// finish sends what has not been sent.
	finish(status int, head func(http.Header)) error
	close()
}

// spool keeps an answer until the body has ended: many clients send all of
// their body before they read, and two sides that both send, and neither reads,
// wait for ever. What is beyond memory goes to a temporary file.
type spool struct {
	w       http.ResponseWriter
	dir     string
	extend  func()
	memory  []byte
	file    *os.File // unlinked already
	out     *bufio.Writer
	written int64
	lost    bool // there is no file; what comes now is why
}

// spoolMemory is how much of an answer is kept in memory.
const spoolMemory = 256 << 10

func (s *spool) add(lines ...any) error {
	for _, line := range lines {
		var b bytes.Buffer
		if err := Encode(&b, line); err != nil {
			return err
		}
		text := b.Bytes()
		s.written += int64(len(text))
		if s.out == nil && (len(s.memory)+len(text) <= spoolMemory || s.lost) {
			s.memory = append(s.memory, text...)
			continue
		}
		if s.out == nil {
			if err := s.open(); err != nil {
				s.lost = true
				s.written = s.written - int64(len(text))
				return err
			}
		}
		if _, err := s.out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// open begins the file. Its name is removed at once, so that nothing is left
// behind however the process ends.
func (s *spool) open() (err error) {
	s.file, err = os.CreateTemp(s.dir, "conclave-answer-")
	if err != nil {
		return err
	}
	_ = os.Remove(s.file.Name())
	s.out = bufio.NewWriterSize(s.file, 64<<10)
	return nil
}

func (s *spool) size() int64  { return s.written }
func (s *spool) begun() bool  { return false }
func (s *spool) flush() error { return nil }

func (s *spool) finish(status int, head func(http.Header)) error {
	var rest io.Reader
	if s.out != nil {
		if err := s.out.Flush(); err != nil {
			return err
		}
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		rest = s.file
	}
	head(s.w.Header())
	s.w.Header().Set("Content-Length", strconv.FormatInt(s.written, 10))
	s.w.WriteHeader(status)
	if _, err := s.w.Write(s.memory); err != nil || rest == nil {
		return err
	}
	buffer := make([]byte, 64<<10)
	for {
		n, err := rest.Read(buffer)
		if n > 0 {
			s.extend()
			if _, err := s.w.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name()) // where an open file cannot be removed
	}
}

// stream sends each line when what it tells is durable, while the body still
// comes in. The client has to read while it sends.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	head    func(http.Header)
	extend  func()
	started bool
}

func (s *stream) add(lines ...any) error {
	if !s.started {
		s.started = true
		s.head(s.w.Header())
	}
	s.extend()
	var b bytes.Buffer
	for _, line := range lines {
		if err := Encode(&b, line); err != nil {
			return err
		}
	}
	_, err := s.w.Write(b.Bytes())
	return err
}

func (s *stream) size() int64 { return 0 } // nothing of it is kept

func (s *stream) begun() bool { return s.started }

func (s *stream) flush() error { return s.control.Flush() }

func (s *stream) finish(int, func(http.Header)) error {
	if !s.started {
		s.head(s.w.Header())
	}
	return nil
}

func (s *stream) close() {}
