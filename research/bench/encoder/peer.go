package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"

	"example.org/conclave/research/bench/peer"
)

//go:embed peer.py
var program string

// startPeer starts Python with a model and the questions' token ids, and returns it with the version of its ONNX
// Runtime. It fails if Python lacks numpy or onnxruntime, or the model does not load. threads is how many threads the
// model runs on, rows has the ids of each question.
func startPeer(python, model string, threads int, rows [][]int32) (p *peer.Process, version string, err error) {
	p, err = peer.Start(exec.Command(python, "-c", program, model, strconv.Itoa(threads)))
	if err != nil {
		return nil, "", err
	}
	err = json.NewEncoder(p.Requests).Encode(rows)
	if err == nil {
		version, err = peer.Read[string](p)
	}
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("the peer (it needs numpy and onnxruntime): %w", err), p.End())
	}
	return p, version, nil
}
