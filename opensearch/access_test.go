package opensearch

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conclave/collection"
	"conclave/corpus"
	"conclave/internal/cluster"
)

// TestAccess: a cluster with TLS and users, as a proxy before a real node, is opened by
// those alone who trust its certificate and whom it knows. Who may only read searches, and
// is told that writes are refused. No error has a secret.
func TestAccess(t *testing.T) {
	c := cluster.Start(t, 3)
	clean := nodesOf(t, c)
	index := testIndex(t, clean, "access")
	e := []collection.PassageEncoder{hashed{name: "one"}}
	if _, err := Build(t.Context(), clean, index, Shape{Shards: 1}, &list{passages: passages(1, 3)}, collection.BuildOptions{Experts: e}, ""); err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(c.URLs[0])
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		known := user == "reader" && password == "sesame-1" || r.Header.Get("Authorization") == "ApiKey sesame-2"
		writes := r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "_mget") && !strings.Contains(r.URL.Path, "_msearch")
		switch {
		case !known:
			w.WriteHeader(http.StatusUnauthorized)
		case writes:
			w.WriteHeader(http.StatusForbidden)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(a Access) (*Store, error) {
		t.Helper()
		client, err := NewClient([]*url.URL{u}, a)
		if err != nil {
			t.Fatal(err)
		}
		return Open(t.Context(), client, index)
	}
	var unknown x509.UnknownAuthorityError
	if _, err := open(Access{User: "reader", Password: "sesame-1"}); !errors.As(err, &unknown) {
		t.Errorf("a certificate that nobody trusts: %v", err)
	}
	for _, a := range []Access{{CA: trusted}, {CA: trusted, User: "reader", Password: "sesame-0"}, {CA: trusted, APIKey: "sesame-0"}} {
		if _, err := open(a); !isStatus(err, http.StatusUnauthorized) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%v", err)
		}
	}
	for _, a := range []Access{{CA: trusted, User: "reader", Password: "sesame-1"}, {CA: trusted, APIKey: "sesame-2"}} {
		store, err := open(a)
		if err != nil {
			t.Fatal(err)
		}
		writer, err := NewWriter(store, e, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = writer.Apply(t.Context(), []collection.Change{{Put: &corpus.Passage{ID: "new", Text: "lamp"}}})
		if !isStatus(err, http.StatusForbidden) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("who may only read writes: %v", err)
		}
	}
}
