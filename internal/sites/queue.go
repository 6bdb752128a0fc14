package sites

import (
	"context"
	"fmt"
	"net/url"
)

// turn is an address that is to be asked for.
type turn struct {
	at      *url.URL
	depth   int
	changed string // lastmod; ""
}

// offer puts the address of a link into the queue, if it is new and may be read, and returns it. It returns nil, and
// counts the address as left out, if it is not in the site, excluded, forbidden or too far away.
func (r *reader) offer(base *url.URL, link string, depth int, changed string) *url.URL {
	u, err := r.site.resolve(base, link)
	if err != nil {
		scheme, _, found := cutScheme(link)
		if !found || scheme == "http" || scheme == "https" {
			r.leaveLink(base, link, err)
		}
		return nil // such as mailto: and javascript:
	}
	r.dropIgnored(u)
	address := u.String()
	if r.known[address] {
		return u
	}
	if r.leftAt[address] {
		return nil
	}
	switch {
	case !r.site.holds(u):
		r.leave(LeftOutside, address, "")
		return nil
	case matchesAny(r.exclude, u) || len(r.include) > 0 && !matchesAny(r.include, u):
		r.leave(LeftExcluded, address, "")
		return nil
	case !r.rules.allows(pathAndQuery(u)):
		r.leave(LeftRobots, address, "")
		return nil
	case depth > r.Depth:
		r.leave(LeftDepth, address, "")
		r.keep(address)
		return nil
	}
	r.push(turn{u, depth, changed})
	return u
}

// push puts an address into the queue.
func (r *reader) push(t turn) {
	r.known[t.at.String()] = true
	r.queue = append(r.queue, t)
}

// keep adds an address to Reading.Kept, so that the page's passages stay as they are, if the collection has it.
func (r *reader) keep(address string) {
	if r.had[address] {
		r.out.Kept = append(r.out.Kept, address)
	}
}

// readQueue asks for the addresses in the queue, and once it is empty for pages that the collection has and that were
// not found. If a bound is reached it stops, without an error, and sets r.ended to that bound. The error is ctx's, or a
// *DownError if the site stops answering.
func (r *reader) readQueue(ctx context.Context) error {
	for {
		if len(r.queue) == 0 && !r.queueLost() {
			return nil
		}
		r.ended = r.boundReached()
		if r.ended != "" {
			return nil
		}
		batch := r.nextTurns()
		answers, err := r.askTogether(ctx, batch)
		if err != nil {
			return err
		}
		for i := range answers {
			r.asked++
			r.take(batch[i], &answers[i])
		}
		if r.failed >= mostFailed {
			last := r.out.Failed[len(r.out.Failed)-1]
			return &DownError{r.Start.String(), fmt.Errorf("%d pages in a row did not answer, the last one %s: %w",
				r.failed, last.Address, last.Err)}
		}
		if r.Progress != nil {
			r.Progress(r.asked, r.asked+len(r.queue))
		}
	}
}

// nextTurns takes the next addresses from the queue, as many as may be asked for at once. What was learned of
// parameters since they were queued may make some of them known addresses, which are passed over.
func (r *reader) nextTurns() (batch []turn) {
	for len(r.queue) > 0 && len(batch) < max(1, r.Connections) {
		t := r.queue[0]
		r.queue = r.queue[1:]
		before := t.at.RawQuery
		r.dropIgnored(t.at)
		if t.at.RawQuery != before {
			if address := t.at.String(); r.known[address] {
				continue
			}
			r.known[t.at.String()] = true
		}
		batch = append(batch, t)
	}
	return batch
}

// boundReached returns which bound of the whole reading is reached; "" if none is.
func (r *reader) boundReached() string {
	switch {
	case len(r.taken) >= r.Pages:
		return fmt.Sprintf("%d pages (documents.site.pages)", r.Pages)
	case r.asked >= askedForPage*r.Pages+100:
		return fmt.Sprintf("%d requests for %d pages", r.asked, r.Pages)
	case r.bytes >= r.Bytes:
		return fmt.Sprintf("%d MiB (documents.site.bytes)", r.Bytes>>20)
	case r.Clock.Now().Sub(r.began) >= r.Time:
		return fmt.Sprintf("%v (documents.site.time)", r.Time)
	}
	return ""
}

// queueLost puts the pages into the queue that the collection has and that were not found any more, so that the site
// says whether they are gone. It reports whether there are any.
func (r *reader) queueLost() bool {
	for _, address := range r.Had {
		u, err := url.Parse(address)
		if err == nil && !r.known[address] && !r.leftAt[address] && !r.Alone {
			r.known[address] = true
			r.offerLost(u)
		}
	}
	return len(r.queue) > 0
}

// offerLost puts a page that the collection has into the queue, unless it may not be read any more.
func (r *reader) offerLost(u *url.URL) {
	address := u.String()
	delete(r.known, address)
	r.offer(u, address, 0, "")
	r.known[address] = true
}
