package server

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/sites"
)

// splitWatch returns the folders and the sites among what documents follow, sites in the form of StartOf. The error
// says to people what is wrong with an address.
func splitWatch(watch []string) (folders, starts []string, err error) {
	for _, w := range watch {
		if !sites.IsAddress(w) {
			folders = append(folders, w)
			continue
		}
		start, err := StartOf(w)
		if err != nil {
			return nil, nil, err
		}
		starts = append(starts, start)
	}
	return folders, starts, nil
}

// watchSites keeps the documents equal to the pages of these sites, reading one after the other at the start and every
// Documents.Site.Look, until s.running is done. It then returns nil. Failures are tried again the next time; each is
// logged once, and shown in /readyz under sites.
func (s *collection) watchSites(starts []string) error {
	waits := ""
	for {
		var reasons []string
		for _, start := range starts {
			reasons = append(reasons, s.followSite(start)...)
			if s.running.Err() != nil {
				return nil
			}
		}
		waits = s.reportWaiting("sites", waits, reasons)
		select {
		case <-time.After(s.config.Documents.Site.Look):
		case <-s.running.Done():
			return nil
		}
	}
}

// followSite makes the documents equal to the pages of one site once, and returns sentences for people that say why
// they differ; nil if they do not.
func (s *collection) followSite(start string) []string {
	r, err := s.siteReading(&jobs.SiteRequest{URL: start, Whole: true})
	if err != nil {
		return []string{err.Error()}
	}
	r.Read = func(reading *sites.Reading) {
		for _, warning := range reading.Warnings {
			s.log.Warn("a site is not read whole", "site", start, "cause", warning)
		}
	}
	to := SiteTarget{
		To: target{s.keeper, s.assembly.Engine}, Reader: s.keeper.Reader(), AtOnce: runtime.GOMAXPROCS(0),
		Failed: func(id string, err error) {
			s.log.Warn("a page is not read; what was read of it before stays", "page", id, "cause", err)
		},
		Warned: func(id, warning string) { s.log.Warn("a page was read in part", "page", id, "warning", warning) },
	}
	if err := s.writer.Visible(s.running, nil); err != nil { // so that what was written is listed
		return []string{"the documents of the site cannot be listed, which is tried again: " + err.Error()}
	}
	synced, err := SyncSite(s.running, to, r)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return []string{err.Error()}
	}
	if synced.Changed() {
		s.log.Info("documents follow their site", "site", start, "added", synced.Added, "replaced", synced.Replaced,
			"removed", synced.Removed, "unchanged", synced.Unchanged, "failed", synced.Failed)
	}
	var reasons []string
	for _, held := range synced.Held {
		reasons = append(reasons, held.String())
	}
	if synced.Failed > 0 {
		reasons = append(reasons, fmt.Sprintf("%d pages of %s could not be read; the log names them", synced.Failed, start))
	}
	return reasons
}

// reportWaiting shows reasons in /readyz, under the name of a component such as folders, and logs them, unless they are
// the same as before. It returns the reasons as one string, to be passed as before the next time; "" if there are none.
func (s *collection) reportWaiting(component, before string, reasons []string) string {
	now := joinReasons(reasons)
	if now == before {
		return now
	}
	s.api.Readiness().Set(schema.Component{Name: component, Status: handlers.Ready, Warnings: reasons})
	if now == "" {
		s.log.Info("documents follow their " + component + " again")
	} else {
		s.log.Error("documents do not follow their "+component, "cause", now)
	}
	return now
}
