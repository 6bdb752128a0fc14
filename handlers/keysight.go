package handlers

import (
	"context"

	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/identity"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/storage"
)

// countVisible returns the number of passages of the collection that the caller may see: all, or, for a key with a
// filter, the number that match it; 0 if they cannot be counted.
func (e *admittedEngine) countVisible(all int) int {
	if !identity.IsRestricted(e.call.r.Context()) {
		return all
	}
	n, err := e.Count(context.WithoutCancel(e.call.r.Context()), storage.Filter{})
	if err != nil {
		return 0
	}
	return n
}

// visibleInfo returns the description of an expert that the caller may see. For a key with a filter, Passages and
// Rows count only passages that match it, and Recall and Warnings, which are about all passages, are nil. For other
// callers it returns info unchanged.
func (e *admittedEngine) visibleInfo(info learned.ExpertInfo) learned.ExpertInfo {
	if !identity.IsRestricted(e.call.r.Context()) {
		return info
	}
	info.Passages = e.countVisible(info.Passages)
	info.Rows, info.Recall, info.Warnings = info.Passages, nil, nil
	return info
}

// visibleInfo returns the description of a collection that the caller may see. For a key with a filter it lacks the
// number of passages, the bytes on disk and the quotas. For other callers it returns info unchanged.
func (c *call) visibleInfo(info collections.Info) collections.Info {
	if !identity.IsRestricted(c.r.Context()) {
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
