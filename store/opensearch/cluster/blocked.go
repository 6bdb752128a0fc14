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

// BlockedError is the error of changes that the cluster refuses, since the index or all of
// the cluster has a block: nothing was changed, and nothing can be until the block is
// taken away. Where a disk is as full as a node lets it be (flood stage), it is a
// syscall.ENOSPC, too; the cluster then takes the block away by itself once there is room.
type BlockedError struct {
	Index  string
	Reason string // in the words of the cluster
	Making bool   // the index is not there, and cannot be made
}

func (e *BlockedError) Error() string {
	if e.Making {
		return fmt.Sprintf("index %s cannot be made: %s (%s)", e.Index, noNewIndexes, e.Reason)
	}
	return fmt.Sprintf("index %s takes no changes: %s", e.Index, e.Reason)
}

// Refusal says why for who asked for a change.
func (e *BlockedError) Refusal() string { return e.Error() }

// Unwrap gives the error of a full disk where that is the reason.
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

// BlockedBy returns the *BlockedError of an index by a status and what the cluster says with it, nil if there is no
// block. A cluster that has no manager or just starts has blocks as well, with status
// 503, which go by themselves.
func BlockedBy(index string, status int, why string) error {
	if status != http.StatusForbidden && status != http.StatusTooManyRequests ||
		!strings.Contains(why, "cluster_block_exception") {
		return nil
	}
	return &BlockedError{index, why, false}
}

// BlockedIn returns the *BlockedError of an index that an error of the cluster tells of; nil if it tells of none.
func BlockedIn(index string, err error) error {
	var status *StatusError
	if !errors.As(err, &status) {
		return nil
	}
	return BlockedBy(index, status.Status, Reason([]byte(status.Body)))
}

// Blocks are those of the settings of an index or of a cluster, by their names.
type Blocks map[string]json.RawMessage

// on reports whether there is a block.
func (b Blocks) on(name string) bool { return strings.Trim(string(b[name]), `"`) == "true" }

// inCluster returns the names of the blocks by which no index of a cluster takes changes, for people;
// "": there are none.
func (b Blocks) inCluster() string {
	var out []string
	for _, name := range []string{"read_only", "read_only_allow_delete"} {
		if b.on(name) {
			out = append(out, "cluster.blocks."+name)
		}
	}
	return strings.Join(out, ", ")
}

// Changes returns the names of the blocks by which the index takes no changes, for people;
// "": there are none.
func (b Blocks) Changes() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(b)) {
		switch {
		case !b.on(name):
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
