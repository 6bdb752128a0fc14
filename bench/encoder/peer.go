package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

//go:embed peer.py
var program string

// peer is the Python process.
type peer struct {
	command *exec.Cmd
	wishes  io.WriteCloser
	answers *bufio.Reader
	version string
}

func startPeer(python, model string, threads int, rows [][]int32) (*peer, error) {
	p := &peer{command: exec.Command(python, "-c", program, model, strconv.Itoa(threads))}
	p.command.Stderr = os.Stderr
	wishes, err := p.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.wishes, p.answers = wishes, bufio.NewReader(answers)
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting the peer: %w", err)
	}
	if err := errors.Join(json.NewEncoder(p.wishes).Encode(rows), p.read(&p.version)); err != nil {
		return nil, errors.Join(fmt.Errorf("the peer (it needs numpy and onnxruntime): %w", err), p.end())
	}
	return p, nil
}

func (p *peer) seconds(wish string) (seconds float64, err error) {
	err = p.ask(wish, &seconds)
	return seconds, err
}

func (p *peer) single() (seconds []float64, err error) {
	err = p.ask("single", &seconds)
	return seconds, err
}

func (p *peer) ask(wish string, answer any) error {
	if _, err := fmt.Fprintln(p.wishes, wish); err != nil {
		return fmt.Errorf("asking the peer: %w", err)
	}
	return p.read(answer)
}

func (p *peer) read(answer any) error {
	line, err := p.answers.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("reading the peer's answer: %w", err)
	}
	return json.Unmarshal(line, answer)
}

// end closes the peer's input, at which it ends, and waits for it.
func (p *peer) end() error {
	return errors.Join(p.wishes.Close(), p.command.Wait())
}
