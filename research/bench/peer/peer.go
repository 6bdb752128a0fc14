// Package peer runs the program that a benchmark compares with. Each line of the
// peer's input is a request, which the peer answers with a line of JSON.
package peer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Process is a running peer, which answers requests by lines of JSON.
type Process struct {
	Requests io.WriteCloser
	command  *exec.Cmd
	answers  *bufio.Reader
}

// Start starts a command as a peer. Its messages go to standard error. The caller ends it with End.
func Start(command *exec.Cmd) (*Process, error) {
	command.Stderr = os.Stderr
	requests, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting the peer: %w", err)
	}
	return &Process{Requests: requests, command: command, answers: bufio.NewReaderSize(answers, 1<<20)}, nil
}

// Ask sends a request, one line, and returns the answer, decoded from one line of JSON. It waits for as long as the
// peer takes, and fails if the peer has ended.
func Ask[T any](p *Process, request string) (answer T, err error) {
	if _, err := fmt.Fprintln(p.Requests, request); err != nil {
		return answer, fmt.Errorf("asking the peer: %w", err)
	}
	return Read[T](p)
}

// Read returns the next answer of a peer, decoded from one line of JSON. It waits for it, and fails if the peer has
// ended.
func Read[T any](p *Process) (answer T, err error) {
	line, err := p.answers.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &answer)
	}
	if err != nil {
		return answer, fmt.Errorf("reading the peer's answer: %w", err)
	}
	return answer, nil
}

// End closes the peer's input, at which it ends, and waits for it. It returns an error if the peer failed.
func (p *Process) End() error { return errors.Join(p.Requests.Close(), p.command.Wait()) }

// WriteJSON writes the figures of a benchmark to a file as JSON; it does nothing if path is "". It fails if figures
// cannot be encoded or the file not be written.
func WriteJSON(path string, figures any) error {
	if path == "" {
		return nil
	}
	text, err := json.Marshal(figures)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
