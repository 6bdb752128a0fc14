package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/tinyexperts"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/shipped"
)

// TestDeltaByCommands: import, list, verify, and finding the bundle by name
// while the delta lies in the folder of bundles.
func TestDeltaByCommands(t *testing.T) {
	base, tied, two := tinyexperts.Golden(t, "base"), tinyexperts.Golden(t, "tied"), tinyexperts.Golden(t, "two")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("conclave.yaml", []byte("cache: cache\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tinyexperts.Calibrate(t, tied, filepath.Join("experts", "golden-tied"))
	index := []string{"index", "--collection", "c", "--in", passagesFile(t), "--experts", "golden-tied"}
	if code, _, complaints := conclave(t, index...); code != cli.ExitFailed ||
		!strings.Contains(complaints, "conclave models import experts/golden-tied") &&
			!strings.Contains(complaints, "ONNX Runtime") {
		t.Errorf("a delta that is not merged: exit code %d, %s", code, complaints)
	}
	if code, _, complaints := conclave(t, "models", "import", "experts/golden-tied"); code != cli.ExitFailed ||
		!strings.Contains(complaints, "conclave setup") ||
		!strings.Contains(complaints, "--base") {
		t.Errorf("without a base: exit code %d, %s", code, complaints)
	}
	code, out, complaints := conclave(t, "models", "import", "experts/golden-tied", "--base", base)
	if code != cli.ExitOK || !strings.Contains(out, "bundles/golden-tied: golden-tied, 32 dimensions") {
		t.Fatalf("exit code %d, %s%s", code, out, complaints)
	}
	var list []models.ListedBundle
	if code, out, complaints := conclave(t, "models", "list", "--json"); code != cli.ExitOK ||
		json.Unmarshal([]byte(out), &list) != nil ||
		len(list) != 2 {
		t.Fatalf("exit code %d, %s%s", code, out, complaints)
	}
	for i, want := range []bool{true, false} {
		if l := list[i]; l.Delta != want || l.Members != 3 || !l.Calibrated || !l.Familiarity || l.Error != "" {
			t.Errorf("%+v", l)
		}
	}
	var found []convert.VerifiedBundle
	code, out, complaints = conclave(t, "models", "verify", "--json", list[0].Folder, list[1].Folder, "nowhere")
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != cli.ExitFailed || len(found) != 3 ||
		complaints != "" {
		t.Fatalf("exit code %d, %s%s: %v", code, out, complaints, err)
	}
	if !found[0].Fine || !found[0].Delta || !found[1].Fine || found[1].Delta || found[1].Fingerprint == "" ||
		found[2].Fine ||
		!strings.Contains(found[2].Error, "nowhere") {
		t.Errorf("%+v", found)
	}
	config, err := configs.Load(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := provision.CacheAt(config.Cache)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := shipped.Folder(config, cache, "golden-tied"); err != nil || at != cache.Bundle("golden-tied") {
		t.Errorf("found at %q: %v", at, err)
	}
	// Trained again: what was merged is of yesterday.
	if err := os.RemoveAll("experts/golden-tied"); err != nil {
		t.Fatal(err)
	}
	tinyexperts.Calibrate(t, two, filepath.Join("experts", "golden-tied"))
	if _, err := shipped.Folder(config, cache, "golden-tied"); err == nil ||
		!strings.Contains(err.Error(), "holds another delta") {
		t.Errorf("%v", err)
	}
	if code, _, complaints := conclave(t, "models", "import", tied, "--base", base, "--name",
		"base"); code != cli.ExitFailed ||
		!strings.Contains(complaints, "the base encoder's") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
}

// TestVerifyChecksGraphs: a bundle whose files are whole and whose manifest
// promises what its graphs have not.
func TestVerifyChecksGraphs(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "bundle")
	b, err := convert.Import(t.Context(), tinyexperts.Golden(t, "base"), folder, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if code, out, complaints := conclave(t, "models", "verify", folder); code != cli.ExitOK ||
		!strings.Contains(out, "fine") {
		t.Errorf("exit code %d, %s%s", code, out, complaints)
	}
	b.Manifest.Vectors.Dimension = 33
	data, err := b.Manifest.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, models.ManifestFile), data, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, complaints := conclave(t, "models", "verify", folder); code != cli.ExitFailed ||
		!strings.Contains(complaints, "33") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
}

// TestVerifyOpens: what loading would refuse is found, in a bundle whose files are those of its
// manifest.
func TestVerifyOpens(t *testing.T) {
	for name, change := range map[string]struct{ file, says string }{
		"a longest word of 10^9": {`{"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},` +
			`"model":{"type":"WordPiece","unk_token":"[UNK]","max_input_chars_per_word":1000000000,"vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3}}}`, "max_input_chars_per_word"},
		"no tokenizer": {`{}`, "tokenizer"},
	} {
		dir := filepath.Join(t.TempDir(), "bundle")
		folder, err := convert.NewFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Abandon()
		whole, err := tiny.Write(filepath.Join(t.TempDir(), "whole"), tiny.Expert{})
		if err != nil {
			t.Fatal(err)
		}
		graph, err := os.ReadFile(whole.Path("encoder.onnx"))
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{"tokenizer.json": []byte(change.file), "encoder.onnx": graph} {
			if err := folder.Create(name, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
				t.Fatal(err)
			}
		}
		m := whole.Manifest
		m.Tokenizer = "tokenizer.json"
		if _, err := folder.Finish(m); err != nil {
			t.Fatal(err)
		}
		if code, _, complaints := conclave(t, "models", "verify", dir); code != cli.ExitFailed ||
			!strings.Contains(complaints, change.says) ||
			!strings.Contains(complaints, "cannot be opened") {
			t.Errorf("%s: exit code %d, %s", name, code, complaints)
		}
	}
}

func TestListOfAFolderThatIsNotThere(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("conclave.yaml", []byte("cache: cache\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, complaints := conclave(t, "models", "list", "/nonexistent"); code != cli.ExitFailed ||
		!strings.Contains(complaints, "/nonexistent") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
	if code, out, complaints := conclave(t, "models", "list"); code != cli.ExitOK || !strings.Contains(out, "no bundles") {
		t.Errorf("exit code %d, %s%s", code, out, complaints)
	}
}
