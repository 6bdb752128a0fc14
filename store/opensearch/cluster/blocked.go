package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
)

// BlockedError is the error of changes that the cluster refuses, since the index or the whole cluster has a block:
// nothing was changed, and nothing can be until the block is removed. If a disk is too full (flood stage), it is a
// syscall.ENOSPC, too; the cluster then removes the block by itself once there is room.
type BlockedError struct {
	Index  string
	Reason string // in the words of the cluster
	Making bool   // the index is not there, and cannot be made
}

// Error names the index, and the block by which it takes no changes or cannot be made.
func (e *BlockedError) Error() string {
	if e.Making {
		return fmt.Sprintf("index %s cannot be made: %s (%s)", e.Index, noNewIndexes, e.Reason)
	}
	return fmt.Sprintf("index %s takes no changes: %s", e.Index, e.Reason)
}

// Refusal returns the message for the caller who asked for a change.
func (e *BlockedError) Refusal() string { return e.Error() }

// Unwrap returns syscall.ENOSPC if a full disk is the reason, else nil.
func (e *BlockedError) Unwrap() error {
	if strings.Contains(e.Reason, "flood-stage") {
		return syscall.ENOSPC
	}
	return nil
}

// noNewIndexes says what the block of new indexes is, for people. A cluster sets it itself, and takes it away
// as long as its watermarks are in force (cluster.routing.allocation.disk.threshold_enabled).
const noNewIndexes = "the cluster makes no new index, by cluster.blocks.create_index: every disk was above the " +
	"cluster's watermark high, or somebody set it; the cluster takes its own block away once there is room"

// BlockedBy returns the *BlockedError of an index by the status and the message of an answer; nil if they tell of no
// block. A block with status 503 is none: a cluster that has no manager or just starts has such ones, which end by
// themselves. why is that message.
func BlockedBy(index string, status int, why string) error {
	if status != http.StatusForbidden && status != http.StatusTooManyRequests ||
		!strings.Contains(why, "cluster_block_exception") {
		return nil
	}
	return &BlockedError{index, why, false}
}

// BlockedIn returns the *BlockedError of an index if err is a *StatusError of a block (BlockedBy), else nil.
func BlockedIn(index string, err error) error {
	var status *StatusError
	if !errors.As(err, &status) {
		return nil
	}
	return BlockedBy(index, status.Status, Reason([]byte(status.Body)))
}

// Blocks are the block settings of an index or a cluster, by their names.
type Blocks map[string]json.RawMessage

// isSet reports whether the block with a name is set.
func (b Blocks) isSet(name string) bool { return strings.Trim(string(b[name]), `"`) == "true" }

// inCluster returns the names of the set blocks by which no index of the cluster takes changes, separated by commas,
// for messages; "" if there are none.
func (b Blocks) inCluster() string {
	var out []string
	for _, name := range []string{"read_only", "read_only_allow_delete"} {
		if b.isSet(name) {
			out = append(out, "cluster.blocks."+name)
		}
	}
	return strings.Join(out, ", ")
}

// Changes returns the names of the set blocks by which the index takes no changes, separated by commas, for people; ""
// if there are none. A block that a full disk sets comes with that explanation.
func (b Blocks) Changes() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(b)) {
		switch {
		case !b.isSet(name):
		case name == "read_only_allow_delete":
			out = append(
				out,
				"index.blocks."+name+" (the disk of a node was filled above its flood-stage watermark, or somebody set it)",
			)
		case name == "write" || name == "read_only":
			out = append(out, "index.blocks."+name)
		}
	}
	return strings.Join(out, ", ")
}
