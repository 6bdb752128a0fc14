package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// diskPatience is how long the nodes have to answer how full their disks are.
const diskPatience = 2 * time.Second

// clusterSettings are the settings of a cluster by which it refuses changes.
type clusterSettings struct {
	Cluster struct {
		Blocks  Blocks `json:"blocks"`
		Routing struct {
			Allocation struct {
				Disk struct {
					Enabled    string            `json:"threshold_enabled"`
					Watermarks map[string]string `json:"watermark"`
				} `json:"disk"`
			} `json:"allocation"`
		} `json:"routing"`
	} `json:"cluster"`
}

// watermarks are the names of a cluster's watermarks, the highest first, with what happens above them.
var watermarks = []struct{ name, then string }{
	{"flood_stage", "its indexes take no changes"},
	{"high", "its shards are moved to other nodes"},
	{"low", "it gets no new shards"},
}

// Limits returns the names of the blocks by which no index of the cluster takes changes, "" if there are none, and a
// sentence for each limit: that the cluster makes no new index, and how full each disk above a watermark is. It
// returns nothing if the cluster does not answer within diskPatience or the user may not ask.
func (c *Client) Limits(ctx context.Context) (blocked string, limits []string) {
	ctx, cancel := context.WithTimeout(ctx, diskPatience)
	defer cancel()
	var settings struct {
		Defaults   clusterSettings `json:"defaults"`
		Persistent clusterSettings `json:"persistent"`
		Transient  clusterSettings `json:"transient"`
	}
	answer, err := c.Do(ctx, http.MethodGet, "/_cluster/settings?include_defaults=true&local=true&filter_path="+
		"*.cluster.blocks,*.cluster.routing.allocation.disk", nil)
	if err != nil || json.Unmarshal(answer, &settings) != nil {
		return "", nil
	}
	all := []clusterSettings{settings.Defaults, settings.Persistent, settings.Transient} // the last counts
	set := blocksOf(all)
	blocked = set.inCluster()
	if blocked != "" {
		blocked += ", of all indexes of the cluster"
	}
	if set.isSet("create_index") {
		limits = append(limits, noNewIndexes)
	}
	enabled := "true"
	marks := map[string]string{}
	for _, s := range all {
		enabled = cmp.Or(s.Cluster.Routing.Allocation.Disk.Enabled, enabled)
		for name, mark := range s.Cluster.Routing.Allocation.Disk.Watermarks {
			marks[name] = mark
		}
	}
	if enabled == "true" {
		limits = append(limits, c.fullDisks(ctx, marks)...)
	}
	return blocked, limits
}

// blocksOf returns the blocks in several cluster settings as one map. If a block is in several of them, the last one
// counts.
func blocksOf(all []clusterSettings) Blocks {
	out := Blocks{}
	for _, s := range all {
		for name, value := range s.Cluster.Blocks {
			out[name] = value
		}
	}
	return out
}

// fullDisks returns, in alphabetical order, a sentence for each node that keeps shards on a disk above a watermark:
// how full it is, and what follows. marks are the watermarks by their names. It returns nil if the cluster does not
// answer.
func (c *Client) fullDisks(ctx context.Context, marks map[string]string) (out []string) {
	var disks struct {
		Nodes map[string]struct {
			Name  string   `json:"name"`
			Roles []string `json:"roles"`
			FS    struct {
				Total struct {
					All  float64 `json:"total_in_bytes"`
					Left float64 `json:"available_in_bytes"`
				} `json:"total"`
			} `json:"fs"`
		} `json:"nodes"`
	}
	answer, err := c.Do(ctx, http.MethodGet, "/_nodes/stats/fs?timeout=1s&filter_path="+
		"nodes.*.name,nodes.*.roles,nodes.*.fs.total", nil)
	if err != nil || json.Unmarshal(answer, &disks) != nil {
		return nil
	}
	for _, n := range disks.Nodes {
		disk := n.FS.Total
		if disk.All <= 0 || !slices.Contains(n.Roles, "data") {
			continue
		}
		at := slices.IndexFunc(watermarks, func(w struct{ name, then string }) bool {
			return exceedsMark(marks[w.name], disk.All, disk.Left)
		})
		if at >= 0 {
			w := watermarks[at]
			full := 100 * (1 - disk.Left/disk.All)
			out = append(out, fmt.Sprintf("the disk of node %s is %.0f %% full, above the cluster's watermark %s (%s): %s",
				n.Name, full, w.name, marks[w.name], w.then))
		}
	}
	slices.Sort(out)
	return out
}

// byteUnits are the units of a watermark in bytes.
var byteUnits = []struct {
	name  string
	bytes float64
}{{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"tb", 1 << 40}, {"pb", 1 << 50}, {"b", 1}}

// exceedsMark reports whether a disk with all bytes, of which left are free, is fuller than a watermark: a share that
// is used, as 85% or 0.85, or bytes that have to be free, as 20gb. It returns false for a watermark of another form.
func exceedsMark(mark string, all, left float64) bool {
	mark = strings.ToLower(strings.TrimSpace(mark))
	if share, ok := strings.CutSuffix(mark, "%"); ok {
		x, err := strconv.ParseFloat(share, 64)
		return err == nil && 100*(all-left) > x*all
	}
	for _, unit := range byteUnits {
		if n, ok := strings.CutSuffix(mark, unit.name); ok {
			x, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
			return err == nil && left < x*unit.bytes
		}
	}
	x, err := strconv.ParseFloat(mark, 64)
	return err == nil && x <= 1 && all-left > x*all
}
