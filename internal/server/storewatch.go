package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch"
)

// lookEvery is how often a server asks the cluster how its store is, and lookTime how long
// the cluster has to say so.
const (
	lookEvery = 5 * time.Second
	lookTime  = 10 * time.Second
)

// readingWords is how long the cluster has to say how the words of a store are written.
const readingWords = 2 * time.Minute

// mostDeleted is the share of deleted passages in the statistics of words that nobody is
// warned of.
const mostDeleted = .1

// watchStore states in /readyz how the store is, and lets searches use what others
// changed of its manifest.
func (s *Server) watchStore() error {
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	reported := ""
	for {
		ctx, cancel := context.WithTimeout(s.running, lookTime)
		health, err := s.assembly.Store.Look(ctx)
		cancel()
		if s.running.Err() != nil {
			return nil
		}
		reported = s.tellStore(reported, health, err)
		if health.Recalibrated {
			s.mu.Lock()
			if err := s.renew(); err != nil {
				s.log.Warn("the newest calibration cannot be used", "cause", err)
			}
			s.mu.Unlock()
		}
		select {
		case <-again.C:
		case <-s.running.Done():
			return nil
		}
	}
}

// tellStore states how the store is, and logs it where that is new. told is what the last
// call returned.
func (s *Server) tellStore(reported string, h opensearch.Health, err error) string {
	component := handlers.Component{Name: "store", Status: handlers.Ready}
	switch {
	case err != nil:
		component.Detail = err.Error()
		component.Status = handlers.Failed
	case h.Status == "red":
		component.Status = handlers.Failed
		component.Detail = "a shard of the index has no copy (its health is red), so passages cannot be found"
	case h.Status != "green":
		component.Warnings = append(
			component.Warnings,
			fmt.Sprintf("the index's health is %s: %d copies of shards are on no node", h.Status, h.Unassigned),
		)
	}
	component.Warnings = append(component.Warnings, h.Disks...)
	if h.Blocked != "" {
		component.Warnings = append(component.Warnings, Blocked(h))
	}
	if all := h.Passages + h.Deleted; err == nil && float64(h.Deleted) > mostDeleted*float64(all) {
		component.Warnings = append(
			component.Warnings,
			fmt.Sprintf(
				"of the passages in the statistics of words, up to %.0f %% were deleted: settling the index merges them away",
				100*float64(h.Deleted)/float64(all),
			),
		)
	}
	if older := Unwritten(h.Statistics); err == nil && older != "" {
		component.Warnings = append(component.Warnings, older)
	}
	if err == nil {
		s.tellReads(ReadsOf(h.Statistics))
	}
	now := fmt.Sprint(component.Status, component.Detail, component.Warnings)
	if now != reported {
		s.api.Readiness().Set(component)
		switch {
		case component.Status == handlers.Failed:
			s.log.Error("the store cannot be searched", "cause", component.Detail)
		case len(component.Warnings) > 0:
			s.log.Warn("the store", "warnings", component.Warnings)
		case reported != "":
			s.log.Info("the store is whole")
		}
	}
	return now
}

// Blocked says that an index takes no changes, and until when.
func Blocked(h opensearch.Health) string {
	return "the index takes no changes, by " + h.Blocked + ": searches go on, and writes are refused until the block is taken away; after a full disk the cluster takes it away by itself when there is room"
}

// Unwritten says what is not known of passages that older versions wrote; "" where everything is.
func Unwritten(n opensearch.Statistics) string {
	var unknown []string
	if n.Unwritten > 0 {
		unknown = append(unknown, fmt.Sprintf("the copies of %d are not known, and their words correct no questions",
			n.Unwritten))
	}
	if n.Unkeyed > 0 {
		unknown = append(unknown, fmt.Sprintf(
			"%d cannot be drawn for the sample that confidences compare questions with, unless all are looked at", n.Unkeyed))
	}
	if unknown == nil {
		return ""
	}
	return fmt.Sprintf("older versions wrote some of the %d passages: %s; indexing into the store again adds what is missing, and encodes nothing that is there",
		n.Passages, strings.Join(unknown, ", and "))
}

// watchWords reads the words of the store again where passages were changed.
func (s *Server) watchWords() error {
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-s.running.Done():
			return nil
		}
		ctx, cancel := context.WithTimeout(s.running, readingWords)
		err := s.assembly.Store.ReadWords(ctx)
		if cancel(); err != nil && s.running.Err() == nil {
			s.log.Warn("mistyped words are corrected by the words as they were", "cause", err)
		}
	}
}

// ReadsOf returns how the experts read the passages of a store.
func ReadsOf(n opensearch.Statistics) store.Reads {
	return store.Reads{Known: int(n.Passages), Cut: int(n.Cut), Unread: int(n.Unread)}
}
