package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/models"
)

// TestImportByName: models of each family go into the cache under their names, where they are
// found; the names of what conclave makes itself are refused.
func TestImportByName(t *testing.T) {
	families, err := filepath.Abs("../../encoder/testdata/families")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("conclave.yaml", []byte("cache: cache\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for family, says := range map[string]string{
		"bert-reranker": "a reranker, int8", "mpnet-reranker": "a reranker, int8", "roberta": "16 dimensions, pooling mean, int8",
		"distilbert": "16 dimensions, pooling mean, int8", "mpnet": "16 dimensions, pooling mean, int8",
	} {
		args := []string{"models", "import", filepath.Join(families, family), "--name", "own-" + family, "--int8", "--unchecked"}
		if !strings.HasSuffix(family, "-reranker") {
			args = append(args, "--pooling", "mean")
		}
		code, out, complaints := conclave(t, args...)
		if code != cli.ExitOK || !strings.Contains(out, says) {
			t.Fatalf("%s: exit code %d, %s%s", family, code, out, complaints)
		}
		b, err := models.Load(filepath.Join("cache", "bundles", "own-"+family))
		if err != nil || b.Manifest.Name != "own-"+family {
			t.Fatalf("%s: %v", family, err)
		}
		card, err := os.ReadFile(b.Path(models.CardFile))
		if model, _, _ := strings.Cut(family, "-"); err != nil || !strings.Contains(string(card), model+", 2 layers of 16") {
			t.Errorf("%s: %s, %v", family, card, err)
		}
	}
	from := filepath.Join(families, "bert-reranker")
	code, _, complaints := conclave(t, "models", "import", from, "--name", "base")
	if code != cli.ExitFailed || !strings.Contains(complaints, "choose another name with --name") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
	if code, _, complaints := conclave(t, "models", "import", from); code != cli.ExitUsage ||
		!strings.Contains(complaints, "--out or --name") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
	code, _, complaints = conclave(t, "models", "import", from, "--name", "x", "--pooling", "cls")
	if code != cli.ExitFailed || !strings.Contains(complaints, "this is a reranker, which makes no vectors") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
}
