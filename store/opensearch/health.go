package opensearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"example.org/conclave/search/turn"
	"example.org/conclave/store/opensearch/cluster"
)

// Health is what a cluster says of an index.
type Health struct {
	// Status is green; yellow where a shard lacks a copy; red where one has none.
	Status string `json:"status"`
	// Unassigned are the copies that are on no node.
	Unassigned int `json:"unassigned_shards"`
	// Initializing are the copies that are being made on a node.
	Initializing int `json:"initializing_shards"`
	Statistics   `json:"-"`
	// Blocked names the blocks by which the index takes no changes; "": it has none.
	Blocked string `json:"-"`
	// Limits say what keeps the cluster from growing: that it makes no new index, and how full a disk is
	// that is above one of its watermarks.
	Limits []string `json:"-"`
	// Recalibrated: the index has another calibration than before, or other settings.
	Recalibrated bool `json:"-"`
}

// MissingCopies returns a phrase with the number of shard copies that cannot be searched yet and where they are, or ""
// if all can.
func (h Health) MissingCopies() string {
	var kinds []string
	add := func(n int, where string) {
		if n == 1 {
			kinds = append(kinds, "1 copy of a shard is "+where)
		} else {
			kinds = append(kinds, fmt.Sprintf("%d copies of shards are %s", n, where))
		}
	}
	if h.Unassigned > 0 || h.Initializing == 0 && h.Status != "green" {
		add(h.Unassigned, "on no node")
	}
	if h.Initializing > 0 {
		add(h.Initializing, "being made")
	}
	return strings.Join(kinds, ", ")
}

// errChanged is the error of an index that is another one than was opened.
var errChanged = errors.New("start again")

// Replaced reports whether an error of Look says that the opened index is gone, in another format, made anew, or
// without an expert that it had.
func Replaced(err error) bool {
	return isNotOurs(err) || errors.Is(err, errChanged)
}

// Look asks the cluster how the index is, keeps the answer for Health and returns it. If the calibration or the
// settings have changed, searches use the new ones from now on, and Recalibrated is set. It fails if no node answers,
// or the index is no longer the one that was opened; Replaced tells which.
func (c *Corpus) Look(ctx context.Context) (h Health, err error) {
	now := c.Store()
	next, err := Open(ctx, now.client, now.index)
	if err != nil {
		return h, err
	}
	// Of the node that is asked: one that hangs may be the one that knows best.
	answer, err := now.client.Do(ctx, "GET", "/_cluster/health"+now.path("?local=true"), nil)
	if err == nil {
		err = json.Unmarshal(answer, &h)
		if err == nil && h.Status == "" {
			err = fmt.Errorf("%w: no health", cluster.ErrAnswer)
		}
	}
	if err != nil {
		return h, fmt.Errorf("asking for the health of index %s: %w", now.index, err)
	}
	// Several nodes are asked for these: where one does not answer, the last numbers stay.
	var everywhere string
	var asking sync.WaitGroup
	beside := turn.WithoutTurn(ctx)
	asking.Go(func() { everywhere, h.Limits = now.client.Limits(beside) })
	h.Statistics, err = c.Count(ctx)
	asking.Wait()
	if err != nil {
		h.Statistics = c.Known()
	}
	h.Blocked = strings.Trim(next.blocks+", "+everywhere, ", ")
	was, is := now.Manifest(), next.Manifest()
	switch {
	case was.ID != is.ID:
		return h, fmt.Errorf("index %s was made anew since it was opened: %w", now.index, errChanged)
	case !was.SearchableBy(is):
		return h, fmt.Errorf("index %s has %s, and had %s when it was opened: %w", now.index, is, was, errChanged)
	}
	if was.Calibration != is.Calibration || was.Settings != is.Settings {
		h.Recalibrated = true
		c.store.Store(next)
	}
	c.health.Store(&h)
	return h, c.ReadSample(ctx)
}

// Health returns what the last Look found; the zero Health before the first.
func (c *Corpus) Health() Health {
	if h := c.health.Load(); h != nil {
		return *h
	}
	return Health{}
}
