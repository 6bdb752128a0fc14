package sites

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"
)

// sitemap is what one file of a sitemap names.
type sitemap struct {
	pages    []listedPage
	sitemaps []string // more such files
}

// listedPage is a page as a sitemap has it.
type listedPage struct {
	address string
	changed string // lastmod, as it is written; ""
}

// Bounds of sitemaps, as sitemaps.org has them.
const (
	sitemapBytes   = 50 << 20 // of one file, unpacked
	mostInSitemap  = 50_000   // pages or files that one file names
	mostSitemaps   = 1_000    // files that are read of a site
	sitemapsNested = 5        // files that name files
)

// parseSitemap returns what a sitemap names: an XML file, also one packed by gzip, or a text with an address in each
// line. Beyond the bounds of sitemaps.org it reads no further. The error says that it is damaged; it returns what
// stands before the damage, too.
func parseSitemap(data []byte) (s sitemap, err error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		in, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return s, err
		}
		data, err = readAtMost(in, sitemapBytes)
		if err != nil {
			return s, err
		}
	}
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")), " \t\r\n")
	if !bytes.HasPrefix(data, []byte("<")) {
		for line := range strings.FieldsSeq(string(data)) {
			if len(s.pages) < mostInSitemap {
				s.pages = append(s.pages, listedPage{address: line})
			}
		}
		return s, nil
	}
	return parseSitemapXML(data)
}

// parseSitemapXML returns what a sitemap in XML names. Elements of other names, such as those of pictures, are passed
// over. The error says that it is damaged.
func parseSitemapXML(data []byte) (s sitemap, err error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // addresses are ASCII
	for len(s.pages)+len(s.sitemaps) < mostInSitemap {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		var entry struct {
			Loc     string `xml:"loc"`
			LastMod string `xml:"lastmod"`
		}
		switch start.Name.Local {
		case "url":
			if err := d.DecodeElement(&entry, &start); err != nil {
				return s, err
			}
			s.pages = append(s.pages, listedPage{strings.TrimSpace(entry.Loc), strings.TrimSpace(entry.LastMod)})
		case "sitemap":
			if err := d.DecodeElement(&entry, &start); err != nil {
				return s, err
			}
			s.sitemaps = append(s.sitemaps, strings.TrimSpace(entry.Loc))
		case "urlset", "sitemapindex":
		default:
			if err := d.Skip(); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// parseChanged returns the time of a lastmod, a date or a time (W3C); zero if it is neither.
func parseChanged(text string) time.Time {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", time.DateOnly, "2006-01", "2006"} {
		if t, err := time.Parse(form, text); err == nil {
			return t
		}
	}
	return time.Time{}
}

// sitemapTurn is a file of a sitemap that is to be read, and how many files led to it.
type sitemapTurn struct {
	at    *url.URL
	depth int
}
