package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/handlers"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/sites"
)

// readSite runs a job that adds a page, or makes the documents of a site equal to its pages (SyncSite), from the hosts
// that the configuration allows. It waits until searches see them. The error is one that ends the job, such as that the
// site cannot be read; documents that were changed before it stay.
func (s *collection) readSite(ctx context.Context, t jobs.Task) (result jobs.Result, err error) {
	r, err := s.siteReading(t.Site)
	if err != nil {
		return result, err
	}
	r.Request.Hosts = s.config.Documents.Hosts
	r.Request.AnyHost = false
	done := &jobs.DocumentsResult{}
	progress := &siteProgress{report: t.Report}
	r.Progress = progress.count
	r.Waiting = progress.wait
	r.Read = func(reading *sites.Reading) {
		result.Warnings = append(result.Warnings, reading.Warnings...)
		for _, l := range reading.Left {
			done.Left = append(done.Left, jobs.LeftOut{Reason: l.Reason, Count: l.Count, Examples: l.Examples})
		}
	}
	to := SiteTarget{
		To: target{s.keeper, s.assembly.Engine}, Reader: s.keeper.Reader(), AtOnce: runtime.GOMAXPROCS(0), Tags: t.Tags,
		Failed: func(id string, err error) {
			if len(done.Failures) < mostFailures {
				done.Failures = append(done.Failures, jobs.DocumentFailure{
					ID: id, Reason: string(documents.ReasonOf(err)), Detail: handlers.WithoutPaths(err.Error()),
				})
			}
		},
		Warned: func(id, warning string) {
			if len(result.Warnings) < mostFailures {
				result.Warnings = append(result.Warnings, id+": "+warning)
			}
		},
		Progress: func(read, total int64) {
			t.Report(jobs.Progress{Stage: "reading documents", Done: read, Total: total, Unit: "bytes"})
		},
	}
	var synced keeping.SyncReport
	if t.Site.Whole {
		synced, err = SyncSite(ctx, to, r)
	} else {
		synced, err = to.addPage(ctx, r)
	}
	if err != nil {
		return result, err
	}
	if err := s.writer.Visible(ctx, nil); err != nil {
		return result, err
	}
	for _, held := range synced.Held {
		result.Warnings = append(result.Warnings, held.String())
	}
	done.Added, done.Replaced, done.Unchanged = synced.Added, synced.Replaced, synced.Unchanged
	done.Removed, done.Failed = synced.Removed, synced.Failed
	result.Documents = done
	result.Generation, result.Passages = s.assembly.Engine.Generation()
	return result, nil
}

// siteProgress reports how far a job is with reading a site. Its methods may be called by several goroutines.
type siteProgress struct {
	report func(jobs.Progress)

	mu           sync.Mutex
	asked, total int // addresses
}

// count reports that so many of the known addresses were asked for.
func (p *siteProgress) count(asked, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = asked
	p.total = total
	p.report(p.progress(""))
}

// wait reports a pause of at least ToldPause after which an address is asked for again, and why (SiteReading.Waiting).
// The report stands until the next page was read.
func (p *siteProgress) wait(address string, pause time.Duration, reason string) {
	if pause < ToldPause {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report(p.progress(fmt.Sprintf("%s: %s; asking again in %v", address, reason, pause.Round(time.Second))))
}

// progress returns how far the reading is, with a note. Call it with p.mu held.
func (p *siteProgress) progress(note string) jobs.Progress {
	return jobs.Progress{
		Stage: "reading the site", Done: int64(p.asked), Total: int64(p.total), Unit: "pages", Note: note,
	}
}

// siteReading returns how a site is read for this collection, from any host. The error says to people what is wrong
// with its address.
func (s *collection) siteReading(site *jobs.SiteRequest) (r SiteReading, err error) {
	start, err := StartOf(site.URL)
	if err != nil {
		return r, err
	}
	d := s.config.Documents
	r = SiteReading{
		Documents: d, Version: s.version,
		Request: SiteRequest{
			Start: start, Alone: !site.Whole, Include: site.Include, Exclude: site.Exclude, Depth: d.Site.Depth,
			Pages: d.Site.Pages, AnyHost: true,
		},
	}
	if site.Depth > 0 {
		r.Request.Depth = site.Depth
	}
	if site.Pages > 0 {
		r.Request.Pages = site.Pages
	}
	r.MemoryPath, err = s.siteMemory(start)
	return r, err
}

// siteMemory returns the file with what is known of a site: in the collection's folder, or of a collection in a store
// in the cache of this machine. It fails if the address is none, or the cache cannot be made.
func (s *collection) siteMemory(start string) (string, error) {
	mark, err := documents.RootOf(start)
	if err != nil {
		return "", err
	}
	if folder := s.localFolder(); folder != "" {
		return sites.MemoryPath(folder, mark), nil
	}
	return SiteMemoryElsewhere(s.config.Cache, s.config.Passages(), mark)
}

// SiteMemoryElsewhere returns the file in the cache with what is known of a site, for a collection that has no folder
// on this machine. target is the address of its store or server, mark that of the site's documents (documents.RootOf).
// It fails if the folder cannot be made.
func SiteMemoryElsewhere(cache, target, mark string) (string, error) {
	at, err := provision.CacheAt(cache)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(at.Root, "sites-of-"+documents.SumOf([]byte(target))[:16])
	return sites.MemoryPath(folder, mark), os.MkdirAll(folder, 0o755)
}

// addPage adds the one page of a reading as a document that follows no site, or replaces the document that has its
// address as id. It fails if the page is not read, with the reason, or the document cannot be stored.
func (t SiteTarget) addPage(ctx context.Context, r SiteReading) (synced keeping.SyncReport, err error) {
	r.Render = t.Reader.Render
	r.Warned = t.Warned
	files, reading, err := r.read(ctx, nil, nil)
	if err != nil {
		return synced, err
	}
	defer func() { _ = files.Close() }()
	t.tell(reading)
	synced.Failed = len(reading.Failed)
	if len(files.Pages) == 0 && synced.Failed == 0 {
		why := "it says that it is not to be found"
		if len(reading.Left) > 0 {
			why = reading.Left[0].String()
		}
		return synced, fmt.Errorf("the page is not read: %s", why)
	}
	many := keeping.Many{
		To: t.To, Reader: t.Reader, Failed: t.Failed,
		About: documents.About{Tags: t.Tags},
	}
	for _, f := range files.Pages {
		if err := many.PutFound(ctx, f); err != nil {
			return synced, err
		}
	}
	synced.Add(many.Done)
	return synced, nil
}
