package opensearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.org/conclave/store/opensearch/cluster"
)

// GoneError is the error of an index that was deleted, or made anew, since it was opened. Nothing can be written to it.
type GoneError struct{ Index string }

// Error names the index, which was deleted or made anew since it was opened.
func (e *GoneError) Error() string {
	return fmt.Sprintf("index %s was deleted or made anew since it was opened: start again when it is there", e.Index)
}

// target returns the alias by which the passages of an index are written. If a write names an index that is not there,
// the cluster makes one, with fields that it guesses. It makes none where an alias is required, and no index has a
// capital letter in its name. The ID of the manifest distinguishes the index from one that is made anew.
func (s *Store) target() string { return s.concrete + "-W" + s.current().ID }

// targetPath returns the path of a request about the index by the alias for writing (target), followed by rest.
func (s *Store) targetPath(rest string) string { return "/" + url.PathEscape(s.target()) + rest }

// hidden keeps an alias out of names with wildcards.
var hidden = object{"is_hidden": true}

// ensureTarget makes sure that the index has its target, the alias that writes use; an index that was restored without
// aliases lacks it. It returns a *GoneError if the index is not the one that was opened.
func (s *Store) ensureTarget(ctx context.Context) error {
	if s.aimed.Load() {
		return nil
	}
	if err := s.checkSame(ctx, cluster.Opening); err != nil {
		return err
	}
	if err := s.pointAlias(ctx, s.target()); cluster.IsStatus(err, http.StatusNotFound) {
		return &GoneError{s.index}
	} else if err != nil {
		return fmt.Errorf("giving index %s the alias %s, by which it is written: %w", s.concrete, s.target(), err)
	}
	s.aimed.Store(true)
	return nil
}

// checkSame returns a *GoneError if the index is not there any more or not the one that was opened, and otherwise the
// error of the request, which may take patience.
func (s *Store) checkSame(ctx context.Context, patience time.Duration) error {
	now := &Store{client: s.client, index: s.index}
	_, about, err := now.describe(ctx, manager, patience)
	if isNotOurs(err) || err == nil && about.Current().ID != s.current().ID {
		return &GoneError{s.index}
	}
	return err
}

// pointAlias makes an alias lead to this index alone, whether or not it exists. It fails if the cluster does not
// answer or refuses it.
func (s *Store) pointAlias(ctx context.Context, alias string) error {
	path := "/_alias/" + url.PathEscape(alias)
	answer, err := s.sendRepeatedFor(ctx, cluster.Opening, http.MethodGet, path, nil, cluster.CheckJSON)
	if err != nil && !cluster.IsStatus(err, http.StatusNotFound) {
		return err
	}
	others := map[string]json.RawMessage{}
	if err == nil {
		if err := json.Unmarshal(answer, &others); err != nil {
			return fmt.Errorf("%w: %w", cluster.ErrAnswer, err)
		}
	}
	add := object{"index": s.concrete, "alias": alias}
	for name, value := range hidden {
		add[name] = value
	}
	var actions []object
	for index := range others {
		if index != s.concrete {
			actions = append(actions, object{"remove": object{"index": index, "alias": alias}})
		}
	}
	body, err := json.Marshal(object{"actions": append(actions, object{"add": add})})
	if err != nil {
		return err
	}
	_, err = s.sendRepeatedFor(ctx, cluster.Opening, http.MethodPost, "/_aliases?timeout=20s", body, cluster.CheckJSON)
	return err
}

// isMissing reports whether a write failed since its alias leads to no index, or to several, by its status and the
// cluster's message. why is that message.
func isMissing(status int, why string) bool {
	if status != http.StatusNotFound && status != http.StatusBadRequest {
		return false
	}
	for _, kind := range []string{
		"index_not_found_exception", "invalid_index_name_exception", "no write index is defined",
	} {
		if strings.Contains(why, kind) {
			return true
		}
	}
	return false
}

// isMissingError reports whether a request failed since the alias that it writes to leads to no index, or to several.
func isMissingError(err error) bool {
	var status *cluster.StatusError
	return errors.As(err, &status) && isMissing(status.Status, status.Body)
}

// Refusal returns the message for the client that asked for the change, which was not made.
func (e *GoneError) Refusal() string { return e.Error() }

// SilentError is the error of changes that the cluster did not acknowledge in time: some may have been made. Sending
// them again does no harm.
type SilentError struct {
	Index string
	After time.Duration
	Err   error // of the last attempt
}

// Error names the index, how long nothing got through, and the error of the last attempt.
func (e *SilentError) Error() string {
	return fmt.Sprintf("writing to %s: nothing got through for %v: %v", e.Index, e.After, e.Err)
}

// Refusal returns the message for the caller who asked for a change: it may have been made.
func (e *SilentError) Refusal() string {
	return fmt.Sprintf("the cluster did not say within %v what became of the change, so it may have been made; sending it again does no harm", e.After)
}

// Unwrap returns the error of the last attempt.
func (e *SilentError) Unwrap() error { return e.Err }
