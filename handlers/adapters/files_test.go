package adapters_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
)

// TestOpenAIFiles uploads, lists, searches, describes and deletes files with OpenAI's
// package for Python.
func TestOpenAIFiles(t *testing.T) {
	s := serve(t, realclients.ServerOptions{})
	script := filepath.Join("testdata", "openai_files.py")
	printed := realclients.Run(t, realclients.Command{Interpreter: realclients.Python(t), Args: []string{script, s.url}})
	var got struct {
		Store, Status, Found, File, Refused, Gone string
		Listed, Content, Tagged, Left             []string
		Attributes                                map[string]any
		Files, Bytes                              []int
		Deleted                                   bool
		DeletedToo                                bool `json:"deleted_too"`
	}
	if err := json.Unmarshal([]byte(printed), &got); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	said := fmt.Sprint(got.Store, got.Status, got.Listed, got.Found, got.File, got.Content, got.Tagged, got.Left,
		got.Deleted, got.DeletedToo)
	want := fmt.Sprint("c", "completed", []string{"handbook.md", "hours.txt"}, "handbook.md", "hours.txt",
		[]string{"Returns\n\nSend a photo of the damaged lamp first."}, []string{"hours.txt"}, []string{"hours.txt"},
		true, true)
	if said != want {
		t.Errorf("got  %s\nwant %s", said, want)
	}
	if fmt.Sprint(got.Attributes) != "map[filename:hours.txt tags:service,public year:2026]" {
		t.Errorf("attributes: %v", got.Attributes)
	}
	// 50 and 23 bytes were sent; one of the two was deleted afterwards.
	if !slices.Equal(got.Files, []int{2, 2, 73, 1}) || !slices.Equal(got.Bytes, []int{50, 23, 23}) {
		t.Errorf("counted %v, bytes %v", got.Files, got.Bytes)
	}
	if !strings.HasPrefix(got.Refused, "400 ") || !strings.Contains(got.Refused, "archive") ||
		!strings.Contains(got.Gone, "handbook.md") {
		t.Errorf("refused: %q, gone: %q", got.Refused, got.Gone)
	}
}
