package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrAnswer is the error of an answer that is incomplete or makes no sense. Another answer to the same request may be
// better.
var ErrAnswer = errors.New("the cluster's answer is not whole")

// CheckJSON returns an ErrAnswer if an answer is not JSON, such as one that was cut off.
func CheckJSON(answer []byte) error {
	if !json.Valid(answer) {
		return ErrAnswer
	}
	return nil
}

// CheckWhole returns an ErrAnswer if an answer in JSON says that copies failed (Coverage.CheckWhole), which the cluster
// tells with status 200.
func CheckWhole(answer []byte) error {
	var coverage Coverage
	if err := json.Unmarshal(answer, &coverage); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return coverage.CheckWhole()
}

// Coverage is the part of an answer that tells which shards took part.
type Coverage struct {
	TimedOut bool `json:"timed_out"`
	Shards   *struct {
		Total      int `json:"total"`
		Successful int `json:"successful"`
		Failed     int `json:"failed"`
	} `json:"_shards"`
}

// CheckSearched returns an ErrAnswer if an answer is not of all shards: a shard failed or has no copy, the time was
// over, or the answer does not say which shards took part.
func (t Coverage) CheckSearched() error {
	if err := t.CheckWhole(); err != nil {
		return err
	}
	if missing := t.Shards.Total - t.Shards.Successful; missing > 0 {
		return fmt.Errorf("%w: %d of %d shards have no copy", ErrAnswer, missing, t.Shards.Total)
	}
	return nil
}

// CheckSearched returns an ErrAnswer if an answer in JSON is not of all shards (Coverage.CheckSearched).
func CheckSearched(answer []byte) error {
	var coverage Coverage
	if err := json.Unmarshal(answer, &coverage); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return coverage.CheckSearched()
}

// CheckWhole returns an ErrAnswer if a shard failed, the time was over, or the answer does not say which shards took
// part. A shard without a copy is no failure.
func (t Coverage) CheckWhole() error {
	switch {
	case t.Shards == nil:
		return fmt.Errorf("%w: it has no counts of shards", ErrAnswer)
	case t.TimedOut:
		return fmt.Errorf("%w: the search timed out in the cluster", ErrAnswer)
	case t.Shards.Failed > 0:
		return fmt.Errorf("%w: %d of %d shards failed", ErrAnswer, t.Shards.Failed, t.Shards.Total)
	}
	return nil
}

// Reason returns the message of an error in JSON, of a request or of an item of a bulk request: its type, its reason
// and the reason of its cause, with colons between. It returns the first 300 bytes of anything else, and "" if raw is
// empty.
func Reason(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var whole struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &whole) == nil && len(whole.Error) > 0 && whole.Error[0] == '{' {
		return Reason(whole.Error)
	}
	var e struct {
		Type   string `json:"type"`
		Reason string `json:"reason"`
		Cause  *struct {
			Reason string `json:"reason"`
		} `json:"caused_by"`
	}
	if json.Unmarshal(raw, &e) != nil || e.Reason == "" {
		return string(raw[:min(len(raw), 300)])
	}
	parts := []string{e.Type, e.Reason}
	if e.Cause != nil && e.Cause.Reason != "" {
		parts = append(parts, e.Cause.Reason)
	}
	return strings.Join(parts, ": ")
}
