package cluster

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What Guarded knows: a user who may write and one who may only read, with one password,
// and an API key of each kind.
const (
	Writer, Reader         = "writer", "reader"
	Password               = "sesame-1"
	WritingKey, ReadingKey = "sesame-2", "sesame-3"
)

// reading matches what the actions indices:data/read/* do with another method than GET: a point in
// time is made and ended by them, and no index is refreshed.
var reading = regexp.MustCompile(`/_(mget|msearch|search|search/point_in_time|termvectors)$`)

// Guarded returns the address of a server that passes requests on to the first node of c over TLS, and the file of
// the server's certificate. It answers 401 without the password or an API key of this package, and 403 if a user or
// key that may only read writes. These errors repeat the credentials that were sent, as careless proxies do. The
// server ends with the test.
func Guarded(tb testing.TB, c *Cluster) (address, certificate string) {
	tb.Helper()
	to, err := url.Parse(c.URLs[0])
	if err != nil {
		tb.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		credentials := r.Header.Get("Authorization")
		may := password == Password && user == Writer || credentials == "ApiKey "+WritingKey
		reads := password == Password && user == Reader || credentials == "ApiKey "+ReadingKey
		writes := r.Method != http.MethodGet && !reading.MatchString(r.URL.Path)
		switch {
		case !may && !reads:
			http.Error(w, "nobody knows "+credentials+" "+password, http.StatusUnauthorized)
		case !may && writes:
			http.Error(w, credentials+" "+password+" may only read", http.StatusForbidden)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	tb.Cleanup(server.Close)
	certificate = filepath.Join(tb.TempDir(), "ca.pem")
	if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: server.Certificate().Raw}), 0o600); err != nil {
		tb.Fatal(err)
	}
	return server.URL, certificate
}

// SecretIn looks in a text for a password or key of Guarded, plain or in base64. It returns the first one with up to
// 300 bytes before it, and whether there is one.
func SecretIn(text string) (piece string, found bool) {
	for _, secret := range []string{"sesame", "c2VzYW1l", "OnNlc2FtZ", "6c2VzYW1l"} { // in base64, behind any user
		if at := strings.Index(text, secret); at >= 0 {
			return text[max(0, at-300) : at+len(secret)], true
		}
	}
	return "", false
}
