package client

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Search sends one search and returns its answer. A search without results is no error.
func (c *Client) Search(ctx context.Context, r SearchRequest) (out SearchResponse, err error) {
	_, err = c.do(ctx, call{method: http.MethodPost, path: "/v1/search", body: r}, &out)
	return out, err
}

// Answer is the answer to one search of a batch, or why there is none.
type Answer struct {
	SearchResponse
	Err error // *Problem
}

// SearchBatch sends several searches at once, at most the server's limits.batch, and returns an answer for each, in
// their order. A mistake in one sets its Err and leaves the others alone. It fails if the batch as a whole is refused,
// as one with too many searches.
func (c *Client) SearchBatch(ctx context.Context, searches []SearchRequest) ([]Answer, error) {
	var out struct{ Answers []json.RawMessage }
	if _, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/search/batch",
		body: map[string]any{"searches": searches}}, &out); err != nil {
		return nil, err
	}
	answers := make([]Answer, len(out.Answers))
	for i, text := range out.Answers {
		problem := &Problem{}
		if err := json.Unmarshal(text, problem); err == nil && problem.Code != "" {
			answers[i].Err = problem
		} else if err := decode(text, &answers[i].SearchResponse); err != nil {
			return nil, fmt.Errorf("%s did not answer as conclave does: %w", c.Address, err)
		}
	}
	return answers, nil
}

// Experts returns the experts that the server has loaded. The error is a *Problem if the server refuses.
func (c *Client) Experts(ctx context.Context) ([]Expert, error) {
	var out struct{ Experts []Expert }
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/experts"}, &out)
	return out.Experts, err
}

// Vectors are those of an expert, one for each text.
type Vectors struct {
	Dimension int
	Values    []float32 // [texts, Dimension], row by row
	Truncated []int     // the texts of which the expert read only the beginning, by position
}

// Row returns the vector of text i, in place. It panics if there is no such text.
func (v Vectors) Row(i int) []float32 { return v.Values[i*v.Dimension : (i+1)*v.Dimension] }

// Embed returns an expert's vectors of texts, at most the server's limits.embed_inputs. kind is question or passage.
// kind "" is question. It fails if the server refuses (a *Problem) or answers with what is no matrix.
func (c *Client) Embed(ctx context.Context, expert, kind string, texts []string) (Vectors, error) {
	header, data, err := c.send(
		ctx,
		call{method: http.MethodPost, path: "/v1/embed", accept: "application/x-npy, application/problem+json",
			body: embedRequest{Expert: expert, Input: texts, Kind: kind}},
	)
	if err != nil {
		return Vectors{}, err
	}
	out, err := readNpy(data)
	if err != nil {
		return out, fmt.Errorf("the vectors from %s: %w", c.Address, err)
	}
	for text := range strings.SplitSeq(header.Get("Conclave-Truncated"), ",") {
		if i, err := strconv.Atoi(text); err == nil {
			out.Truncated = append(out.Truncated, i)
		}
	}
	return out, nil
}

var npyShape = regexp.MustCompile(`'descr': '<f4', 'fortran_order': False, 'shape': \((\d+), (\d+)\)`)

// readNpy returns the matrix in a file of NumPy, format 1.0. It fails unless the file is one matrix of float32 in C
// order.
func readNpy(data []byte) (Vectors, error) {
	const before = 10 // magic, version, length of the header
	if len(data) < before || string(data[:8]) != "\x93NUMPY\x01\x00" {
		return Vectors{}, fmt.Errorf("this is no array of numpy: %.40q", data)
	}
	begin := before + int(binary.LittleEndian.Uint16(data[8:]))
	if begin > len(data) {
		return Vectors{}, fmt.Errorf("the array's header is cut off")
	}
	shape := npyShape.FindSubmatch(data[before:begin])
	if shape == nil {
		return Vectors{}, fmt.Errorf("the array is no matrix of float32: %.100q", data[before:begin])
	}
	rows, _ := strconv.Atoi(string(shape[1]))
	columns, _ := strconv.Atoi(string(shape[2]))
	numbers := data[begin:]
	if len(numbers) != 4*rows*columns {
		return Vectors{}, fmt.Errorf(
			"the array has %d bytes of numbers, not those of %d times %d", len(numbers), rows, columns,
		)
	}
	out := Vectors{Dimension: columns, Values: make([]float32, rows*columns)}
	for i := range out.Values {
		out.Values[i] = math.Float32frombits(binary.LittleEndian.Uint32(numbers[4*i:]))
	}
	return out, nil
}
