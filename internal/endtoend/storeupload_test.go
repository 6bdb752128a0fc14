package endtoend

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"example.org/conclave/internal/jobs"
)

// uploadFile returns the content of a file of an upload.
func uploadFile(kind string, n int) string {
	return fmt.Sprintf("# Part %d\n\nThe %s has lamp%d.\n\n## More\n\nA harbour of %s%d.\n", n, kind, n, kind, n)
}

// zipOf, tarOf and formOf return uploads of so many files, with their content types.
func zipOf(t *testing.T, kind string, files int) (contentType string, body []byte) {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for n := range files {
		f, err := w.Create(fmt.Sprintf("%s/%d.md", kind, n))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(f, uploadFile(kind, n))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return "application/zip", out.Bytes()
}

func tarOf(t *testing.T, kind string, files int) (contentType string, body []byte) {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for n := range files {
		text := uploadFile(kind, n)
		name := fmt.Sprintf("%s/%d.md", kind, n)
		head := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if err := w.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, text)
	}
	if w.Close() != nil || packed.Close() != nil {
		t.Fatal("closing a tar")
	}
	return "application/gzip", out.Bytes()
}

func formOf(t *testing.T, kind string, files int) (contentType string, body []byte) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for n := range files {
		f, err := w.CreateFormFile("file", fmt.Sprintf("%s/%d.md", kind, n))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(f, uploadFile(kind, n))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), out.Bytes()
}

// upload sends many files, and returns the job that was accepted.
func (p *process) upload(contentType string, body []byte) (job jobs.Job) {
	p.t.Helper()
	request, err := http.NewRequest(http.MethodPost, p.url+"/v1/documents?tags=new", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	answer, err := p.client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusAccepted || json.Unmarshal(said, &job) != nil {
		p.t.Fatalf("%d: %s, %v\n%s", answer.StatusCode, said, err, p.log.String())
	}
	return job
}

// TestClusterUploads uploads many documents into a cluster: the server that accepted them is killed
// right after its answer, and another one in the middle of their job. Every file that was
// acknowledged is a document afterwards, and nothing of the uploads is left beside the index.
func TestClusterUploads(t *testing.T) {
	c := startCluster(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	store := storeAt(t, c, "uploads")
	s := newSite(t, "log: {level: error}\n", []string{"small"}, "small", `{"id":"a","text":"an old lighthouse"}`+"\n")
	s.command("export", "--collection", "c", "--to", store)
	const files = 30
	one := s.serve("", "--store", store)
	accepted := []jobs.Job{one.upload(zipOf(t, "zip", files))}
	one.kill()
	two := s.serve("", "--store", store)
	accepted = append(accepted, two.upload(tarOf(t, "tar", files)), two.upload(formOf(t, "form", files)))
	two.eventually("a file is put", func() bool {
		var all struct{ Documents []struct{ ID string } }
		two.get(http.MethodGet, "/v1/documents?limit=100", "", http.StatusOK, &all)
		return len(all.Documents) > 3
	})
	two.kill()
	three := s.serve("", "--store", store)
	for _, job := range accepted {
		done := three.job(job)
		if r := done.Result.Documents; r == nil || r.Added+r.Unchanged+r.Replaced != files || r.Failed > 0 {
			t.Errorf("%+v: %+v", done, r)
		}
	}
	for _, kind := range []string{"zip", "tar", "form"} {
		for n := range files {
			var found struct{ Tags []string }
			three.get(http.MethodGet, fmt.Sprintf("/v1/documents/%s%%2F%d.md", kind, n), "", http.StatusOK, &found)
			if len(found.Tags) != 1 || found.Tags[0] != "new" {
				t.Errorf("%s/%d.md has the tags %q", kind, n, found.Tags)
			}
		}
	}
	three.eventually("the uploads are removed", func() bool {
		ask := func(method, path string) string {
			request, err := http.NewRequest(method, c.URLs[0]+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			said, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s, %v", path, said, err)
			}
			return string(said)
		}
		ask(http.MethodPost, "/uploads*-state/_refresh?expand_wildcards=all")
		found := ask(http.MethodGet, "/uploads*-state/_search?expand_wildcards=all&_source=false&size=1000")
		return strings.Contains(found, `"_id":"jobs-`) && !strings.Contains(found, `"_id":"documents-`)
	})
	three.stop()
}
