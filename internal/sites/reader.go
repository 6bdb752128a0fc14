package sites

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// reader is the state of one reading. Only the functions of its fetcher run in several goroutines.
type reader struct {
	Options
	fetch            *fetcher
	site             site
	rules            robots
	include, exclude []matcher
	before           map[string]*remembered
	memory           *Memory
	had              map[string]bool
	began            time.Time

	queue  []turn
	known  map[string]bool // addresses that are or were in the queue, or were refused by offer
	listed bool            // the pages are those of a sitemap: links are not followed
	asked  int
	bytes  int64
	failed int    // pages in a row that did not answer
	ended  string // why the reading stops before its end; ""

	taken     map[string]bool   // pages that were read or are unchanged
	texts     map[string]string // the first address with a text, by fingerprint
	deferred  []deferredPage    // pages that are known as others
	redirects map[string]string // where addresses of the site lead
	repeated  map[string]int    // how often a parameter of a query made no difference
	ignored   map[string]bool   // parameters that make none
	left      map[string]*LeftOut
	leftAt    map[string]bool // addresses that were counted in left
	out       Reading
}

// deferredPage is a page that names another address as its own.
type deferredPage struct {
	page Page
	to   string
	text string
}

// newReader returns a reader that has not asked for anything yet.
func newReader(o Options, client *http.Client) *reader {
	r := &reader{
		Options: o, include: matchersOf(o.Include), exclude: matchersOf(o.Exclude),
		had: map[string]bool{}, began: o.Clock.Now(), known: map[string]bool{}, taken: map[string]bool{},
		texts: map[string]string{}, redirects: map[string]string{}, repeated: map[string]int{},
		ignored: map[string]bool{}, left: map[string]*LeftOut{}, leftAt: map[string]bool{},
		memory: &Memory{pages: map[string]*remembered{}},
	}
	if o.Before != nil {
		r.before = o.Before.pages
		for _, name := range o.Before.ignored {
			r.ignored[name] = true
		}
	}
	for _, address := range o.Had {
		r.had[address] = true
	}
	r.fetch = &fetcher{
		client: client, reach: &r.Reach, agent: o.Agent, limit: o.PageTime, attempts: o.Attempts,
		clock: o.Clock, waiting: o.Waiting,
	}
	if o.Rate > 0 {
		r.fetch.pace = time.Duration(float64(time.Second) / o.Rate)
	}
	return r
}

// mostRedirects bounds the redirects from the start address, and those of robots.txt.
const mostRedirects = 10

// begin finds where the site is, reads its robots.txt and its sitemap, and fills the queue. The error is a *DownError.
func (r *reader) begin(ctx context.Context) error {
	down := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &DownError{r.Start.String(), err}
	}
	first, err := r.followStart(ctx)
	if err != nil {
		return down(err)
	}
	start := r.site.start
	r.known[start.String()] = true
	defer r.takeStart(&first)
	if r.Alone {
		return nil
	}
	pages, err := r.readSitemaps(ctx)
	if err != nil {
		return down(err)
	}
	for _, page := range pages {
		if u := r.offer(start, page.address, 0, page.changed); u != nil && u.String() != start.String() {
			r.listed = true // a sitemap with the start alone lists nothing
		}
	}
	return nil
}

// takeStart takes the answer for the start address, once it is known whether links are followed.
func (r *reader) takeStart(first *asked) {
	r.asked++
	r.take(turn{at: r.site.start}, first)
}

// followStart asks for the start address, after the robots.txt of its host, and for the addresses to which it leads,
// which may be on other hosts. It sets r.site to the site of the last one, and returns its answer. It fails if the site
// does not answer, or forbids the address.
func (r *reader) followStart(ctx context.Context) (first asked, err error) {
	at := r.Start
	for range mostRedirects {
		before := r.site
		r.site = siteOf(at)
		if !before.isHost(at) {
			if err := r.readRobots(ctx); err != nil {
				return first, err
			}
			r.fetch.pace = max(r.fetch.pace, r.rules.delay)
		}
		if !r.rules.allows(pathAndQuery(at)) {
			return first, fmt.Errorf("its robots.txt forbids reading %s", at)
		}
		first = r.ask(ctx, turn{at: at})
		var large *TooLargeError
		var left *leftOutError
		switch {
		case first.err != nil && !errors.As(first.err, &large) && !errors.As(first.err, &left):
			return first, first.err
		case first.location == nil && first.err == nil && first.status != http.StatusOK &&
			first.status != http.StatusNotModified:
			return first, &StatusError{first.status}
		case first.location == nil:
			return first, nil
		}
		if err := normalise(first.location); err != nil {
			return first, fmt.Errorf("it redirects to an address that %w", err)
		}
		at = first.location
	}
	return first, fmt.Errorf("it redirects more than %d times", mostRedirects)
}

// readRobots reads the robots.txt of the site's host into r.rules. A site without one allows everything. The error says
// that it cannot be read, and then nothing may be.
func (r *reader) readRobots(ctx context.Context) error {
	r.rules = robots{}
	at := r.site.root("/robots.txt")
	for range mostRedirects {
		a, err := r.fetch.fetch(ctx, at, http.Header{}, robotsBytes, acceptAll)
		var large *TooLargeError
		switch {
		case errors.As(err, &large): // what is beyond has no effect
			r.rules = parseRobots(a.body, product)
			return nil
		case err != nil:
			return fmt.Errorf("its robots.txt: %w", err)
		case a.status == http.StatusOK:
			r.rules = parseRobots(a.body, product)
			return nil
		case a.location == nil && a.status < 500 && a.status != http.StatusTooManyRequests:
			return nil
		case a.location == nil:
			return fmt.Errorf("its robots.txt: %w", &StatusError{a.status})
		}
		if err := normalise(a.location); err != nil {
			break // a robots.txt that leads nowhere is none
		}
		at = a.location
	}
	return nil
}

// acceptAll returns nil for every header of an answer, so that fetch reads the body whatever its type.
func acceptAll(http.Header) error { return nil }

// readSitemaps returns the pages of the sitemaps that robots.txt names, or else of that at the usual place; none if
// there are no sitemaps or they cannot be read. The error is ctx's.
func (r *reader) readSitemaps(ctx context.Context) (pages []listedPage, err error) {
	var queue []sitemapTurn
	seen := map[string]bool{}
	add := func(base *url.URL, link string, depth int) {
		u, err := r.site.resolve(base, link)
		if err == nil && !seen[u.String()] && len(seen) < mostSitemaps && depth < sitemapsNested {
			seen[u.String()] = true
			queue = append(queue, sitemapTurn{u, depth})
		}
	}
	root := r.site.root("/")
	for _, link := range r.rules.sitemaps {
		add(root, link, 0)
	}
	if len(queue) == 0 {
		add(root, "/sitemap.xml", 0)
	}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		a, err := r.fetch.fetch(ctx, next.at, http.Header{}, sitemapBytes, acceptAll)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if a.location != nil {
			add(next.at, a.location.String(), next.depth)
		}
		if err == nil && a.status == http.StatusOK {
			var found sitemap
			found, err = parseSitemap(a.body)
			pages = append(pages, found.pages...)
			for _, link := range found.sitemaps {
				add(next.at, link, next.depth+1)
			}
		}
		if err != nil {
			r.out.Warnings = append(r.out.Warnings, fmt.Sprintf("the sitemap %s is not read whole: %v", next.at, err))
		}
		if len(pages) > 4*r.Pages {
			break
		}
	}
	return pages, nil
}

// leave counts an address that is left out. Each counts once.
func (r *reader) leave(reason, address, detail string) {
	if r.leftAt[address] || len(r.leftAt) > mostLeft {
		return
	}
	r.leftAt[address] = true
	l := r.left[reason]
	if l == nil {
		l = &LeftOut{Reason: reason}
		r.left[reason] = l
	}
	l.Count++
	if len(l.Examples) < mostExamples {
		if detail != "" {
			address += " (" + detail + ")"
		}
		l.Examples = append(l.Examples, address)
	}
}

// leaveLink counts a link on a page that is no address that may be read. It does not show it: a password may be in it.
func (r *reader) leaveLink(page *url.URL, link string, err error) {
	if r.leftAt[link] {
		return
	}
	r.leftAt[link] = true
	r.leave(LeftAddress, page.String()+" has a link that "+err.Error(), "")
}

const (
	mostExamples = 3       // of each reason
	mostLeft     = 200_000 // addresses that are counted, such as those outside of the site
)

// mostFailed is how many pages in a row may not answer before the site counts as down.
const mostFailed = 10

// askedForPage is how many requests there may be for each of the most pages.
const askedForPage = 4

// askTogether asks for several addresses at once. The error is ctx's; those of single addresses are in the answers.
func (r *reader) askTogether(ctx context.Context, batch []turn) ([]asked, error) {
	answers := make([]asked, len(batch))
	group, ctx := errgroup.WithContext(ctx)
	for i, t := range batch {
		group.Go(func() error {
			answers[i] = r.ask(ctx, t)
			return ctx.Err()
		})
	}
	return answers, group.Wait()
}

// asked is what became of one request.
type asked struct {
	answer
	err  error
	same bool // the page is as it was, by its sitemap, and was not asked for
}

// recheck is how long a sitemap is believed that says that a page has not changed.
const recheck = 7 * 24 * time.Hour

// ask asks for one address, under the condition that it has changed if its content is known.
func (r *reader) ask(ctx context.Context, t turn) asked {
	address := t.at.String()
	header := http.Header{}
	before := r.before[address]
	if before != nil && before.missing == 0 && (r.had[address] || before.left != "") {
		if t.changed != "" && before.listed == t.changed && before.left == "" && r.Clock.Now().Sub(before.asked) < recheck {
			return asked{same: true}
		}
		if before.etag != "" {
			header.Set("If-None-Match", before.etag)
		}
		if before.modified != "" {
			header.Set("If-Modified-Since", before.modified)
		}
	}
	a, err := r.fetch.fetch(ctx, t.at, header, r.PageBytes, func(h http.Header) error {
		mediaType := mediaTypeOf(h)
		if !r.IsReadable(mediaType, address) {
			return &leftOutError{LeftType, mediaType}
		}
		return nil
	})
	return asked{answer: a, err: err}
}

// spool writes the content of a page to a file in the folder Spool, named by the number of pages asked for, and returns
// its path. It fails if the file cannot be written.
func (r *reader) spool(body []byte) (string, error) {
	name := filepath.Join(r.Spool, strconv.Itoa(r.asked))
	return name, os.WriteFile(name, body, 0o600)
}

// finish takes or leaves the pages that name another address as their own, counts the addresses that are still in the
// queue as left out, and returns the reading. If a bound ended it, a warning says which one. Call it once, at the end.
func (r *reader) finish() *Reading {
	for _, d := range r.deferred {
		r.settle(d)
	}
	for _, t := range r.queue {
		r.leave(LeftBound, t.at.String(), "")
		r.keep(t.at.String())
	}
	if r.ended != "" {
		for _, address := range r.Had { // those that were not asked for
			if !r.known[address] {
				r.keep(address)
			}
		}
		r.out.Warnings = append(r.out.Warnings, "the reading ended at the bound of "+r.ended)
	}
	for name := range r.ignored {
		r.memory.ignored = append(r.memory.ignored, name)
	}
	r.out.Left = sortedLeft(r.left)
	r.out.Memory = r.memory
	return &r.out
}

// settle takes a page that names another address as its own, unless the page of that address was taken.
func (r *reader) settle(d deferredPage) {
	to := d.to
	for range mostRedirects {
		if next, ok := r.redirects[to]; ok {
			to = next
		}
	}
	if r.taken[to] && to != d.page.Address {
		r.leave(LeftCanonical, d.page.Address, to)
		return
	}
	r.taken[d.page.Address] = true
	if m := r.memory.pages[d.page.Address]; m != nil {
		m.left, m.to = "", ""
	}
	r.out.Pages = append(r.out.Pages, d.page)
}

// fingerprintOf returns a text for the hash of a page's text.
func fingerprintOf(sum [32]byte) string { return hex.EncodeToString(sum[:12]) }
