// Package sites reads the pages of a website: politely, within bounds, and from addresses that may be asked.
//
// Words used here:
//
//   - address: of a page, in the one form that normalise gives it, which is also the id of its document;
//   - site: the pages of one host below one folder;
//   - reading: going through a site once, from its sitemap or along its links;
//   - memory: what is kept of a reading for the next one, such as ETags.
package sites

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// product is the name under which robots.txt and pages address this reader.
const product = "conclave"

// Options say what is read of a site, and how.
type Options struct {
	Start *url.URL // as ParseAddress returns it
	// Alone reads the page at Start alone.
	Alone bool
	// Include has patterns of addresses of which a page needs one, none where it is empty. The page at Start needs
	// none.
	Include []Pattern
	Exclude []Pattern // patterns of addresses that are not read
	Depth   int       // most links that lead from Start to a page
	Pages   int       // most pages
	Bytes   int64     // of all pages together
	// PageBytes and PageTime bound one page, Time the whole reading.
	PageBytes      int64
	PageTime, Time time.Duration
	Connections    int     // at a time
	Rate           float64 // requests a second, at most; robots.txt may ask for fewer
	Attempts       int     // at a page while the site is busy or does not answer
	Agent          string  // what the site is told of the reader: the header User-Agent
	Reach          Reach
	// IsReadable reports whether pages of a media type are read; the address tells the type where none is declared.
	IsReadable func(mediaType, address string) bool
	// Spool is a folder for the contents of pages, which the caller removes.
	Spool string
	// Had are the addresses of pages that the collection has from this site. They are asked for, too.
	Had []string
	// Before is the memory of the last reading; nil: there is none.
	Before *Memory
	Clock  Clock // zero: the machine's
	// Progress is called with the number of addresses that were asked for, and of all that are known by now. May be
	// nil.
	Progress func(done, total int)
	// Waiting is called before each pause after which a page is asked for again, with its address and the reason. May
	// be nil. Several goroutines may call it.
	Waiting func(address string, pause time.Duration, reason string)
}

// Page is a page that was read.
type Page struct {
	Address  string
	File     string // with its content
	Bytes    int64
	Type     string    // the declared Content-Type; ""
	Modified time.Time // Last-Modified, or by the sitemap; zero: not known
	// Scripted is true if it has hardly any text, and scripts that may make some in a browser.
	Scripted bool
}

// Reading is what was found in a site.
type Reading struct {
	Pages     []Page   // whose contents are new, or may be
	Unchanged []string // pages that are as they were at the last reading
	// Kept are pages of Options.Had about which nothing is known now, such as those that did not answer, or that are
	// absent for the first time.
	Kept   []string
	Failed []Failure // pages that were not read because something went wrong
	Left   []LeftOut // what was left out on purpose or because of a bound, by reason
	// Warnings are about the whole site.
	Warnings []string
	// Memory is for the next reading, once the collection has what was read.
	Memory *Memory
}

// Failure is a page that could not be read.
type Failure struct {
	Address string
	Err     error
}

// The reasons for which addresses are left out.
const (
	LeftOutside   = "outside"   // not in the site
	LeftExcluded  = "excluded"  // by Include or Exclude
	LeftRobots    = "robots"    // robots.txt forbids them
	LeftNoIndex   = "noindex"   // the page says so
	LeftRedirect  = "redirect"  // they lead to another page of the site
	LeftCanonical = "canonical" // the page is known by another address
	LeftDuplicate = "duplicate" // the text is that of another page
	LeftType      = "type"      // no format that is read
	LeftLarge     = "too_large"
	LeftDepth     = "depth"  // beyond Options.Depth
	LeftBound     = "bounds" // beyond Pages, Bytes or Time
	LeftAbsent    = "absent" // links to what is not there
	LeftAddress   = "address"
)

// reasonTexts says for people why addresses were left out.
var reasonTexts = map[string]string{
	LeftOutside: "outside of the site", LeftExcluded: "by the patterns to include and exclude",
	LeftRobots: "forbidden by robots.txt", LeftNoIndex: "marked as noindex", LeftRedirect: "lead to other pages",
	LeftCanonical: "known by another address", LeftDuplicate: "with the text of another page",
	LeftType: "of a type that is not read", LeftLarge: "too large", LeftDepth: "too many links away",
	LeftBound: "beyond the bounds of pages, bytes or time", LeftAbsent: "not there (404, 410)",
	LeftAddress: "addresses that cannot be read",
}

// LeftOut counts addresses that were left out for one reason.
type LeftOut struct {
	Reason   string   `json:"reason"`
	Count    int      `json:"count"`
	Examples []string `json:"examples"` // the first three, with details
}

// String returns a line for people.
func (l LeftOut) String() string {
	text := fmt.Sprintf("left out, %s: %d", reasonTexts[l.Reason], l.Count)
	if len(l.Examples) > 0 {
		text += ", such as " + l.Examples[0]
	}
	return text
}

// leftOutError says that an address is left out, and why.
type leftOutError struct{ reason, detail string }

// Error returns the detail.
func (e *leftOutError) Error() string { return e.detail }

// DownError says that a site could not be read at all, so that nothing is known of its pages.
type DownError struct {
	Start string
	Err   error
}

// Error says which site it is, and the cause.
func (e *DownError) Error() string {
	return fmt.Sprintf("the site %s cannot be read, and nothing of it is changed: %v", e.Start, e.Err)
}

// Unwrap returns the cause.
func (e *DownError) Unwrap() error { return e.Err }

// Read goes through a site once and returns what is there. It asks for pages in the order in which they were found,
// those of its sitemap or else along its links, and for those of o.Had that were not found. The error is a *DownError
// if the site cannot be read, and ctx's if that ends; the contents of pages are in o.Spool until then.
func Read(ctx context.Context, o Options) (*Reading, error) {
	if o.Clock.Now == nil {
		o.Clock = systemClock()
	}
	transport := o.Reach.transport(max(1, o.Connections), o.PageTime)
	defer transport.CloseIdleConnections()
	r := newReader(o, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}})
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	if err := r.readQueue(ctx); err != nil {
		return nil, err
	}
	return r.finish(), nil
}

// sortedLeft returns the reasons in the order of their counts, the largest first.
func sortedLeft(all map[string]*LeftOut) (out []LeftOut) {
	for _, l := range all {
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b LeftOut) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		if a.Reason < b.Reason {
			return -1
		}
		return 1
	})
	return out
}
