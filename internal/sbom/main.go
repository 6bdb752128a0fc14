// Command sbom writes the bill of materials of a built conclave as CycloneDX 1.6 in JSON: the Go
// modules that are linked into the program, with their checksums, the Go release, and the pinned
// archives that `conclave setup` fetches. The same program gives the same bytes.
//
//	go run ./internal/sbom bin/conclave v1.0.0 >bin/conclave.cdx.json
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"strings"

	"example.org/conclave/internal/provision"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// run writes the parts of the program args[0], of version args[1], as CycloneDX JSON to out. It fails if there are
// not two arguments or the file is no Go program.
func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("name the program whose parts to list, and its version: there are %d arguments", len(args))
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	bom, err := newBOM(info, args[1], provision.Pinned())
	if err != nil {
		return err
	}
	encoder := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON)
	return encoder.SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6)
}

// newBOM returns the bill of materials of a program: the Go release and modules that it was built of, by info, and
// the archives that it fetches. version is the program's, and that of modules of the same commit. It fails if a
// module's sum is not one.
func newBOM(info *debug.BuildInfo, version string, fetched []provision.Wheel) (*cdx.BOM, error) {
	program := cdx.Component{Type: cdx.ComponentTypeApplication, Name: "conclave", Version: version}
	program.BOMRef = "conclave@" + version
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	components := []cdx.Component{goComponent("std", goVersion)}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		if module.Version == "(devel)" { // the Go client, of the same commit
			module.Version = version
		}
		c := goComponent(module.Path, module.Version)
		if module.Sum != "" { // that of the module's files, as in go.sum
			sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:"))
			if err != nil {
				return nil, fmt.Errorf("module %s: its sum is %q: %w", module.Path, module.Sum, err)
			}
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
		}
		components = append(components, c)
	}
	for _, w := range fetched {
		c := cdx.Component{
			Type: cdx.ComponentTypeLibrary, Name: w.Package, Version: w.Version, Scope: cdx.ScopeRequired,
			PackageURL:  fmt.Sprintf("pkg:pypi/%s@%s?file_name=%s", w.Package, w.Version, url.QueryEscape(w.File)),
			Hashes:      &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: w.SHA256}},
			Description: "fetched by conclave setup",
		}
		if w.Platform == "" {
			c.Type = cdx.ComponentTypeMachineLearningModel
		} else {
			c.Description += " where it suits the machine: " + w.Platform
			c.Scope = cdx.ScopeOptional
		}
		c.BOMRef = c.PackageURL
		components = append(components, c)
	}
	var parts []string
	for _, c := range components {
		parts = append(parts, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &program}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: program.BOMRef, Dependencies: &parts}}
	return bom, nil
}

// goComponent returns the entry of a Go module.
func goComponent(path, version string) cdx.Component {
	purl := "pkg:golang/" + path + "@" + version
	return cdx.Component{
		BOMRef:     purl,
		Type:       cdx.ComponentTypeLibrary,
		Name:       path,
		Version:    version,
		Scope:      cdx.ScopeRequired,
		PackageURL: purl,
	}
}
