package main

import (
	"bytes"
	"encoding/hex"
	"os"
	"os/exec"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"example.org/conclave/internal/provision"
)

// TestBill compares the bill of this test's program with what `go version -m` prints of it, and
// with the pins.
func TestBill(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, again bytes.Buffer
	if err := run([]string{program, "v1"}, &out); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{program, "v1"}, &again); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("the second bill differs: %v", err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(out.Bytes()), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if bom.SpecVersion != cdx.SpecVersion1_6 || bom.BOMFormat != "CycloneDX" ||
		bom.Metadata.Component.BOMRef != "conclave@v1" {
		t.Errorf("%+v", bom)
	}
	found := map[string]cdx.Component{}
	for _, c := range *bom.Components {
		if _, twice := found[c.BOMRef]; twice || c.BOMRef == "" {
			t.Errorf("%q is there twice, or has no reference", c.BOMRef)
		}
		found[c.BOMRef] = c
		if c.Hashes != nil {
			if raw, err := hex.DecodeString((*c.Hashes)[0].Value); err != nil || len(raw) != 32 {
				t.Errorf("%s: %v", c.Name, *c.Hashes)
			}
		}
	}
	printed, err := exec.Command("go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := 0
	for line := range strings.Lines(string(printed)) {
		if fields := strings.Fields(line); len(fields) >= 3 && fields[0] == "dep" {
			modules++
			if c, ok := found["pkg:golang/"+fields[1]+"@"+fields[2]]; !ok || c.Version != fields[2] {
				t.Errorf("%s is missing", line)
			}
		}
	}
	if wheels := provision.Pinned(); modules == 0 || len(found) != 1+modules+len(wheels) {
		t.Errorf("%d components of %d modules, %d archives and Go", len(found), modules, len(wheels))
	}
	for _, w := range provision.Pinned() {
		if !strings.Contains(out.String(), w.SHA256) {
			t.Errorf("%s has no checksum", w.File)
		}
	}
	if err := run(nil, &out); err == nil {
		t.Error("no program is taken")
	}
}
