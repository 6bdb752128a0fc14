package sites

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// take decides what becomes of the answer for an address, and puts the links of a page into the queue.
func (r *reader) take(t turn, a *asked) {
	address := t.at.String()
	if a.err == nil && a.status < 500 && a.status != http.StatusTooManyRequests || a.same {
		r.failed = 0
	}
	var left *leftOutError
	var large *TooLargeError
	switch {
	case a.same || a.status == http.StatusNotModified && r.before[address] != nil:
		r.takeUnchanged(t, a.same)
	case errors.As(a.err, &left):
		r.leave(left.reason, address, left.detail)
	case errors.As(a.err, &large):
		r.leave(LeftLarge, address, a.err.Error())
		r.keep(address)
	case a.err != nil:
		r.fail(address, a.err)
	case a.location != nil:
		r.takeRedirect(t, a.location)
	case a.status == http.StatusNotFound || a.status == http.StatusGone:
		r.takeAbsent(address, a.status)
	case a.status != http.StatusOK:
		r.fail(address, &StatusError{a.status})
	default:
		r.takePage(t, a)
	}
}

// fail counts a page that could not be read. What is known of it stays.
func (r *reader) fail(address string, err error) {
	r.failed++
	r.out.Failed = append(r.out.Failed, Failure{address, err})
	r.keep(address)
	if before := r.before[address]; before != nil {
		r.memory.pages[address] = before
	}
}

// takeUnchanged takes a page that is as it was at the last reading. unasked says that this is known by the sitemap.
func (r *reader) takeUnchanged(t turn, unasked bool) {
	address := t.at.String()
	m := *r.before[address]
	m.missing = 0
	m.listed = t.changed
	if !unasked {
		m.asked = r.Clock.Now()
	}
	r.memory.pages[address] = &m
	if m.left != "" {
		r.leave(m.left, address, "")
	} else {
		r.taken[address] = true
		r.out.Unchanged = append(r.out.Unchanged, address)
		if m.text != "" && r.texts[m.text] == "" {
			r.texts[m.text] = address
		}
	}
	r.follow(t, t.at, m.links)
}

// takeRedirect notes where an address leads, and puts that into the queue if it is in the site.
func (r *reader) takeRedirect(t turn, to *url.URL) {
	address := t.at.String()
	u := r.offer(t.at, to.String(), t.depth, t.changed)
	if u == nil {
		r.leave(LeftOutside, address, "leads outside of the site")
		return
	}
	r.redirects[address] = u.String()
	r.leave(LeftRedirect, address, u.String())
}

// goneAfter is how often in a row a page has to be absent before its document is removed: a site that is being changed
// may lack pages for a while.
const goneAfter = 2

// takeAbsent notes that a page is not there. The first time, what the collection has of it stays.
func (r *reader) takeAbsent(address string, status int) {
	r.leave(LeftAbsent, address, http.StatusText(status))
	if !r.had[address] {
		return
	}
	m := &remembered{missing: 1, asked: r.Clock.Now()}
	if before := r.before[address]; before != nil {
		m.missing += before.missing
	}
	r.memory.pages[address] = m
	if m.missing < goneAfter {
		r.keep(address)
	}
}

// takePage takes the content of a page, or leaves it out as the page itself asks for.
func (r *reader) takePage(t turn, a *asked) {
	address := t.at.String()
	m := &remembered{
		etag: a.header.Get("ETag"), modified: a.header.Get("Last-Modified"), listed: t.changed, asked: r.Clock.Now(),
	}
	r.memory.pages[address] = m
	page := Page{
		Address: address, Bytes: int64(len(a.body)), Type: a.header.Get("Content-Type"),
		Modified: modifiedOf(m.modified, t.changed),
	}
	var s scanned
	fingerprint := fingerprintOf(sha256.Sum256(a.body))
	if isHTML(a) {
		s = scanPage(a.body, product)
		if s.words >= fewWords {
			fingerprint = fingerprintOf(s.text)
		}
		page.Scripted = s.isScripted()
	}
	s.directHeader(a.header, product)
	base := t.at
	if s.base != "" {
		if b, err := r.site.resolve(t.at, s.base); err == nil {
			base = b
		}
	}
	first, again := r.texts[fingerprint]
	if again && first != address && !s.isScripted() {
		// Its links are those of the other page, and may lead on without end.
		m.leaveAs(LeftDuplicate, first)
		r.leave(LeftDuplicate, address, "as "+first)
		r.learnIgnored(first, address)
		return
	}
	r.texts[fingerprint] = address
	m.text = fingerprint
	if !s.noFollow {
		m.links = r.linksInSite(base, s.links)
		r.follow(t, base, s.links)
	}
	if s.noIndex {
		m.left = LeftNoIndex
		delete(r.texts, fingerprint)
		r.leave(LeftNoIndex, address, "")
		return
	}
	file, err := r.spool(a.body)
	if err != nil {
		r.fail(address, err)
		return
	}
	r.bytes += page.Bytes
	page.File = file
	if to := r.canonicalOf(t, base, s.canonical); to != "" {
		m.leaveAs(LeftCanonical, to)
		delete(r.texts, fingerprint)
		r.deferred = append(r.deferred, deferredPage{page, to, fingerprint})
		return
	}
	r.taken[address] = true
	r.out.Pages = append(r.out.Pages, page)
}

// canonicalOf returns the address in the site as which a page wants to be known, and puts it into the queue; "" if that
// is its own, none is named, or it may not be read.
func (r *reader) canonicalOf(t turn, base *url.URL, link string) string {
	if link == "" || r.Alone {
		return ""
	}
	u, err := r.site.resolve(base, link)
	if err != nil || u.String() == t.at.String() || !r.site.holds(u) {
		return ""
	}
	if r.offer(base, link, t.depth, "") == nil {
		return ""
	}
	return u.String()
}

// linksInSite returns the addresses of links that are in the site, each once.
func (r *reader) linksInSite(base *url.URL, links []string) (out []string) {
	for _, link := range links {
		if u, err := r.site.resolve(base, link); err == nil && r.site.holds(u) {
			out = append(out, u.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// follow puts the links of a page into the queue, unless the pages are those of a sitemap.
func (r *reader) follow(t turn, base *url.URL, links []string) {
	if r.listed || r.Alone {
		return
	}
	for _, link := range links {
		r.offer(base, link, t.depth+1, "")
	}
}

// isHTML reports whether an answer is a page in HTML, by its type, or by its first bytes if it has none.
func isHTML(a *asked) bool {
	switch mediaTypeOf(a.header) {
	case "text/html", "application/xhtml+xml":
		return true
	case "":
		return strings.HasPrefix(http.DetectContentType(a.body), "text/html")
	}
	return false
}

// modifiedOf returns when a page was changed, by Last-Modified or else by its sitemap; zero if neither says it.
func modifiedOf(header, listed string) time.Time {
	if t, err := http.ParseTime(header); err == nil {
		return t
	}
	return parseChanged(listed)
}

// mostRepeats is how often two addresses that differ in one parameter of the query have the same text before that
// parameter is dropped from all addresses, as one of a session is.
const mostRepeats = 3

// learnIgnored counts the parameter in which the addresses of two pages with the same text differ, if it is one.
func (r *reader) learnIgnored(first, second string) {
	a, errA := url.Parse(first)
	b, errB := url.Parse(second)
	if errA != nil || errB != nil || a.Path != b.Path {
		return
	}
	names := map[string]bool{}
	before, after := a.Query(), b.Query()
	for name := range before {
		if !slices.Equal(before[name], after[name]) {
			names[name] = true
		}
	}
	for name := range after {
		if !slices.Equal(before[name], after[name]) {
			names[name] = true
		}
	}
	if len(names) != 1 {
		return
	}
	for name := range names {
		if r.repeated[name]++; r.repeated[name] >= mostRepeats {
			r.ignored[name] = true
		}
	}
}

// dropIgnored removes parameters that make no difference from the query of an address.
func (r *reader) dropIgnored(u *url.URL) {
	if len(r.ignored) == 0 || u.RawQuery == "" {
		return
	}
	var kept []string
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err != nil || !r.ignored[plain] {
			kept = append(kept, part)
		}
	}
	u.RawQuery = strings.Join(kept, "&")
}

// cutScheme splits a link behind its scheme, in lower case; found is false if it has none.
func cutScheme(link string) (scheme, rest string, found bool) {
	scheme, rest, found = strings.Cut(strings.TrimSpace(link), ":")
	if !found || strings.ContainsAny(scheme, "/?#") {
		return "", link, false
	}
	return strings.ToLower(scheme), rest, true
}
