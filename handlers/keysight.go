package handlers

import (
	"context"

	"example.org/conclave/internal/collections"
	"example.org/conclave/search"
)

// seen returns how many of a collection's passages the caller may see: all, or for a key with a
// filter those that meet it. Where they cannot be counted it returns 0.
func (e *admittedEngine) seen(all int) int {
	if !search.IsRestricted(e.call.r.Context()) {
		return all
	}
	n, err := e.Count(context.WithoutCancel(e.call.r.Context()), search.Filter{})
	if err != nil {
		return 0
	}
	return n
}

// withoutOthers returns the description of an expert as a key with a filter is told it: with no more
// passages than the key may see, and without what was measured over all of them. Other callers are
// told everything.
func (e *admittedEngine) withoutOthers(info search.ExpertInfo) search.ExpertInfo {
	if !search.IsRestricted(e.call.r.Context()) {
		return info
	}
	info.Passages = e.seen(info.Passages)
	info.Rows, info.Recall, info.Warnings = info.Passages, nil, nil
	return info
}

// withoutOthers returns the description of a collection as a key with a filter is told it: without its
// number of passages, the size of its folder, and its quotas. Other callers are told everything.
func (c *call) withoutOthers(info collections.Info) collections.Info {
	if !search.IsRestricted(c.r.Context()) {
		return info
	}
	info.Bytes, info.Passages = nil, nil
	if info.Settings != nil {
		settings := *info.Settings
		settings.Quotas = collections.Quotas{}
		info.Settings = &settings
	}
	return info
}
