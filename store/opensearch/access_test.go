package opensearch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/corpus"
	testcluster "example.org/conclave/internal/testing/cluster"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

func address(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// answers returns a node that answers everything so.
func answers(t *testing.T, status int, body string) *url.URL {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return address(t, server.URL)
}

// otherTLS returns the certificate of another authority.
func otherTLS(t *testing.T) string {
	t.Helper()
	const other = `-----BEGIN CERTIFICATE-----
MIIBhTCCASugAwIBAgIQIRi6zePL6mKjOipn+dNuaTAKBggqhkjOPQQDAjASMRAw
DgYDVQQKEwdBY21lIENvMB4XDTE3MTAyMDE5NDMwNloXDTE4MTAyMDE5NDMwNlow
EjEQMA4GA1UEChMHQWNtZSBDbzBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABD0d
7VNhbWvZLWPuj/RtHFjvtJBEwOkhbN/BnnE8rnZR8+sbwnc/KhCk3FhnpHZnQz7B
5aETbbIgmuvewdjvSBSjYzBhMA4GA1UdDwEB/wQEAwICpDATBgNVHSUEDDAKBggr
BgEFBQcDATAPBgNVHRMBAf8EBTADAQH/MCkGA1UdEQQiMCCCDmxvY2FsaG9zdDo1
NDUzgg4xMjcuMC4wLjE6NTQ1MzAKBggqhkjOPQQDAgNIADBFAiEA2zpJEPQyz6/l
Wf86aX6PepsntZv2GYlA5UpabfT2EZICICpJ5h/iI+i341gBmLiAFQOyTDT+/wQc
6MF9+Yw1Yy0t
-----END CERTIFICATE-----
`
	file := filepath.Join(t.TempDir(), "other.pem")
	if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRefusedAtStart: what a server or a command must not begin with it refuses before
// anything else, and says both what is there and what is needed. No error has a secret.
func TestRefusedAtStart(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, 3)
	clean := nodesOf(t, c)
	index := testIndex(t, clean, "refused-at-start")
	one := hashed{name: "one"}
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4}, Experts: []store.PassageEncoder{one}}
	if _, err := Build(t.Context(), clean, index, schema.Shape{Shards: 1}, &list{passages: passages(1, 3)}, options,
		""); err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), clean, index)
	if err != nil {
		t.Fatal(err)
	}
	good := *target.Manifest()
	guarded, trusted := testcluster.Guarded(t, c)
	tls := address(t, guarded)
	real := address(t, c.URLs[0])

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := &url.URL{Scheme: "http", Host: listener.Addr().String()}
	_ = listener.Close()
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(hangs.CloseClientConnections)
	silent := address(t, hangs.URL)
	version := func(distribution, number string) *url.URL {
		return answers(t, 200, `{"version":{`+distribution+`"number":"`+number+`"},"tagline":"You Know, for Search"}`)
	}
	plainToTLS := *tls
	plainToTLS.Scheme = "http"
	tlsToPlain := *real
	tlsToPlain.Scheme = "https"
	manifest := func(change func(m *schema.Manifest)) func(t *testing.T) {
		return func(t *testing.T) {
			m := good
			change(&m)
			if err := target.putMapping(t.Context(), schema.Meta{Manifest: &m}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	put := func(path, body string) func(t *testing.T) {
		return func(t *testing.T) {
			if _, err := clean.Do(t.Context(), "PUT", "/"+index+path, []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	writer := cluster.Access{CA: trusted, User: testcluster.Writer, Password: testcluster.Password}
	for _, x := range []struct {
		name    string
		nodes   []*url.URL
		access  cluster.Access
		before  func(t *testing.T) // what somebody did to the index
		encoder hashed             // of the bundle; default: the one that made the index
		want    []string
	}{
		{name: "nobody there", nodes: []*url.URL{nobody, silent}, want: []string{nobody.String() + ": ", "refused", silent.String() + ": no answer within 5s"}},
		{name: "no node ready", nodes: []*url.URL{answers(t, 503, "no healthy upstream")}, want: []string{"status 503", "no healthy upstream"}},
		{name: "Elasticsearch", nodes: []*url.URL{version("", "8.15.2")}, want: []string{"this is Elasticsearch 8.15.2", "OpenSearch 3.5 or newer"}},
		{name: "too old", nodes: []*url.URL{version(`"distribution":"opensearch",`, "2.19.1")}, want: []string{"this is OpenSearch 2.19.1", "OpenSearch 3.5 or newer"}},
		{name: "a little too old", nodes: []*url.URL{version(`"distribution":"opensearch",`, "3.4.0")}, want: []string{"this is OpenSearch 3.4.0", "OpenSearch 3.5 or newer"}},
		{name: "another product", nodes: []*url.URL{version(`"distribution":"other",`, "9.0.0")}, want: []string{`"other" 9.0.0`, "OpenSearch 3.5 or newer"}},
		{name: "a web page", nodes: []*url.URL{answers(t, 200, "<html>hello")},
			want: []string{"not OpenSearch", "<html>hello"}},
		{name: "no authority of ours", nodes: []*url.URL{tls}, access: cluster.Access{User: testcluster.Writer, Password: testcluster.Password}, want: []string{"Acme Co", "is not trusted by the system's certificates"}},
		{name: "another authority", nodes: []*url.URL{tls}, access: cluster.Access{CA: otherTLS(t), User: testcluster.Writer, Password: testcluster.Password}, want: []string{"Acme Co", "is not trusted by ", "other.pem"}},
		{name: "http to https", nodes: []*url.URL{&plainToTLS}, access: writer, want: []string{"HTTPS"}},
		{name: "https to http", nodes: []*url.URL{&tlsToPlain}, want: []string{"HTTP"}},
		{name: "nobody asks", nodes: []*url.URL{tls}, access: cluster.Access{CA: trusted}, want: []string{"status 401", "without a user or an API key"}},
		{name: "wrong password", nodes: []*url.URL{tls}, access: cluster.Access{CA: trusted, User: testcluster.Writer, Password: "sesame-0"}, want: []string{"status 401", `the user "writer" with this password`}},
		{name: "wrong API key", nodes: []*url.URL{tls}, access: cluster.Access{CA: trusted, APIKey: "sesame-0"}, want: []string{"status 401", "this API key"}},
		{name: "user may only read", nodes: []*url.URL{tls}, access: cluster.Access{CA: trusted, User: testcluster.Reader, Password: testcluster.Password}, want: []string{"may not write to the index", `the user "reader"`, "status 403"}},
		{name: "key may only read", nodes: []*url.URL{tls}, access: cluster.Access{CA: trusted, APIKey: testcluster.ReadingKey}, want: []string{"may not write to the index", "this API key", "status 403"}},
		{name: "index locked", before: put("/_settings", `{"index.blocks.write":true}`), want: []string{"may not write to the index", "status 403", "index write"}},
		{name: "another encoder", encoder: hashed{name: "one", owner: "another"}, want: []string{"print of one", "print of another"}},
		{name: "expert that it lacks", encoder: hashed{name: "two"}, want: []string{`no vectors of expert "two"`, "it has: [one]"}},
		{name: "format", before: manifest(func(m *schema.Manifest) { m.Format = 7 }), want: []string{"has format 7", "reads format 3", "index the passages again under another name"}},
		{name: "analyser", before: manifest(func(m *schema.Manifest) { m.Words.Analyser = "other" }), want: []string{"analysed in another way (other)", store.Analyser(forms.Lucene)[:16]}},
		{name: "k1", before: manifest(func(m *schema.Manifest) { m.Words.K1 = 1.2 }), want: []string{`k1 is "0.9"`, "manifest says 1.2"}},
		{name: "missing field of phrases", before: manifest(func(m *schema.Manifest) { m.Words.Phrases = true }), want: []string{"no field pairs"}},
		{name: "missing field of an expert", before: manifest(func(m *schema.Manifest) {
			m.Experts = append(slices.Clone(m.Experts), schema.Expert{Name: "two", Fingerprint: "x", Dimension: 8})
		}), want: []string{"no field v_two"}},
		{name: "dimension", before: manifest(func(m *schema.Manifest) { m.Experts = []schema.Expert{{Name: "one", Fingerprint: "x", Dimension: 9}} }), want: []string{"dimension is 8", "to be 9"}},
		{name: "changed mapping", before: put("/_mapping", `{"dynamic":"true"}`),
			want: []string{`dynamic ("true")`, "strict"}},
		{name: "unfinished", before: func(t *testing.T) {
			if err := target.putMapping(t.Context(), schema.Meta{Plan: &good}, nil); err != nil {
				t.Fatal(err)
			}
		}, want: []string{"has not ended"}},
		{name: "of another program", before: put("/_mapping", `{"_meta":{"x":1}}`), want: []string{"not made by conclave"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.nodes == nil {
				x.nodes = []*url.URL{real}
			}
			if x.encoder.name == "" {
				x.encoder = one
			}
			if x.before != nil {
				x.before(t)
				defer func() {
					put("/_settings", `{"index.blocks.write":null}`)(t)
					put("/_mapping", `{"dynamic":"strict"}`)(t)
					manifest(func(*schema.Manifest) {})(t)
				}()
			}
			err := starts(t.Context(), x.nodes, x.access, index, x.encoder)
			if err == nil {
				t.Fatal("it was not refused")
			}
			t.Log(err)
			for _, want := range x.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %s", err, want)
				}
			}
			hasNoSecret(t, err)
		})
	}
	if err := starts(t.Context(), []*url.URL{nobody, tls}, writer, index, one); err != nil {
		t.Errorf("who may write, with one node of two: %v", err)
	}
	if now, err := Open(t.Context(), clean, index); err != nil || now.Manifest().ID != good.ID {
		t.Errorf("asking for what one may do changed the index: %v", err)
	}
	if n, err := target.Statistics(t.Context()); err != nil || n.Passages != 3 || n.Deleted != 0 {
		t.Errorf("%+v, %v", n, err)
	}
}

// starts does what a server that writes does first.
func starts(ctx context.Context, nodes []*url.URL, a cluster.Access, index string, e hashed) error {
	client, err := cluster.NewClient(nodes, a)
	if err != nil {
		return err
	}
	if err := client.Connect(ctx); err != nil {
		return err
	}
	s, err := Open(ctx, client, index)
	if err != nil {
		return err
	}
	if err := s.Manifest().CheckEncoders(e); err != nil {
		return err
	}
	return s.MayWrite(ctx)
}

// hasNoSecret looks for the secrets of testcluster.Guarded in an error and all that it wraps.
func hasNoSecret(t *testing.T, err error) {
	t.Helper()
	if _, found := testcluster.SecretIn(err.Error()); found {
		t.Errorf("the error has a secret: %v", err)
	}
}

// TestReadOnlyUser: who may only read searches; a command that writes, and a write, is
// refused without the secret.
func TestReadOnlyUser(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, 3)
	clean := nodesOf(t, c)
	index := testIndex(t, clean, "read-only-user")
	e := []store.PassageEncoder{hashed{name: "one"}}
	options := store.BuildOptions{Experts: e}
	if _, err := Build(t.Context(), clean, index, schema.Shape{Shards: 1}, &list{passages: passages(1, 3)}, options,
		""); err != nil {
		t.Fatal(err)
	}
	node, trusted := testcluster.Guarded(t, c)
	client, err := cluster.NewClient(
		[]*url.URL{address(t, node)},
		cluster.Access{CA: trusted, User: testcluster.Reader, Password: testcluster.Password},
	)
	if err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := NewCorpus(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	v := shown.Acquire()
	defer v.Release()
	if all, err := v.Passages().After(t.Context(), "", 10); err != nil || len(all) != 3 {
		t.Errorf("%d passages, %v", len(all), err)
	}
	if err := target.MayChange(t.Context()); !errors.Is(err, ErrReadOnly) {
		t.Errorf("%v", err)
	}
	scan, err := target.Scan(t.Context()) // as importing does
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := scan.Close(); err != nil {
			t.Error(err)
		}
	}()
	if report, err := folder.Build(t.Context(), t.TempDir()+"/imported", scan,
		store.BuildOptions{Experts: target.Encoders()}); err != nil || report.Passages != 3 {
		t.Errorf("importing: %d passages, %v", report.Passages, err)
	}
	given := &list{passages: passages(2, 3)}
	_, err = Build(t.Context(), client, index, schema.Shape{Shards: 1}, given, options, "")
	if !errors.Is(err, ErrReadOnly) || given.at != 0 {
		t.Errorf("indexing: %v, and %d passages were read", err, given.at)
	} else {
		hasNoSecret(t, err)
	}
	writer, err := NewWriter(target, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = writer.Apply(t.Context(), []store.Change{{Put: &corpus.Passage{ID: "new", Text: "lamp"}}})
	if !cluster.IsStatus(err, http.StatusForbidden) {
		t.Fatalf("%v", err)
	}
	hasNoSecret(t, err)
}
