package endtoend

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// callers ask a server over a fixed number of connections, as cheaply as can be, since
// they share the processors with it: requests are bytes that were made before, and of an
// answer the status and the length are read.
type callers struct {
	address string
	due     chan request
	running sync.WaitGroup

	mu  sync.Mutex
	all asks
}

// request is the bytes of one, and when it was to be sent.
type request struct {
	text []byte
	due  time.Time
}

// asks are the outcomes of questions.
type asks struct {
	answered, refused []time.Duration // from when they were to be sent
	late              int
	odd               []string // what else came
}

// floodRequest returns one question for a hundred results within floodTimeout.
func floodRequest(question string) []byte {
	body := fmt.Sprintf(`{"question":%q,"k":100,"fields":[],"timeout_ms":%d}`, question, floodTimeout.Milliseconds())
	return fmt.Appendf(
		nil,
		"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		len(body),
		body,
	)
}

func (p *process) callers(connections int) *callers {
	c := &callers{address: strings.TrimPrefix(p.url, "http://"), due: make(chan request, 1<<16)}
	for range connections {
		c.running.Go(c.call)
	}
	return c
}

// call sends what is due over one connection, one request after the other.
func (c *callers) call() {
	var conn net.Conn
	var in *bufio.Reader
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
	}()
	for r := range c.due {
		status := 0
		err := error(nil)
		if conn == nil {
			conn, err = net.Dial("tcp", c.address)
			if err == nil {
				in = bufio.NewReaderSize(conn, 16<<10)
			}
		}
		if err == nil {
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			_, err = conn.Write(r.text)
			if err == nil {
				status, err = readAnswer(in)
			}
		}
		if err != nil && conn != nil {
			_ = conn.Close()
			conn = nil
		}
		c.note(time.Since(r.due), status, err)
	}
}

// readAnswer reads an answer with a length, and returns its status.
func readAnswer(in *bufio.Reader) (status int, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	status, err = strconv.Atoi(string(bytes.Fields(line)[1]))
	if err != nil {
		return 0, err
	}
	length := -1
	for {
		line, err = in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
			if err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, fmt.Errorf("an answer of status %d has no length", status)
	}
	_, err = io.CopyN(io.Discard, in, int64(length))
	return status, err
}

// note counts an outcome.
func (c *callers) note(took time.Duration, status int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.all.odd = append(c.all.odd, err.Error())
	case status == http.StatusOK:
		c.all.answered = append(c.all.answered, took)
		if took > floodTimeout {
			c.all.late++
		}
	case status == http.StatusTooManyRequests,
		status == http.StatusServiceUnavailable,
		status == http.StatusGatewayTimeout:
		c.all.refused = append(c.all.refused, took)
	default:
		c.all.odd = append(c.all.odd, fmt.Sprint("status ", status))
	}
}

// outcomes ends the calls and returns what came of them.
func (c *callers) outcomes() asks {
	close(c.due)
	c.running.Wait()
	return c.all
}
