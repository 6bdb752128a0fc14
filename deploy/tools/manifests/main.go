// Command manifests renders folders for kustomize and prints the objects, each decoded strictly as the type of
// Kubernetes that it names: a field that this type has not, a value of another type and an unknown kind are
// errors. It asks no cluster.
//
//	go run ./manifests ../kubernetes/base ../kubernetes/overlays/cluster
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// main writes the objects of the folders on the command line as JSON to standard output.
func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

// Rendered holds what a folder gives.
type Rendered struct {
	Folder  string           `json:"folder"`
	Objects []map[string]any `json:"objects"`
}

// run writes the objects of every folder, which kustomize renders, as one JSON list to out. It fails without a
// folder, and for an object of an unknown kind or with an unknown field.
func run(folders []string, out io.Writer) error {
	if len(folders) == 0 {
		return errors.New("no folder is named")
	}
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apps.AddToScheme, core.AddToScheme, networking.AddToScheme, policy.AddToScheme,
	} {
		if err := add(known); err != nil {
			return err
		}
	}
	strict := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
	var all []Rendered
	for _, folder := range folders {
		rendered, err := render(folder, strict)
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		all = append(all, rendered)
	}
	return json.NewEncoder(out).Encode(all)
}

// render returns the objects that kustomize renders of a folder. It fails if strict does not accept one of them.
func render(folder string, strict runtime.Decoder) (Rendered, error) {
	out := Rendered{Folder: folder}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return out, err
	}
	for _, resource := range resources.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return out, err
		}
		if _, _, err := strict.Decode(text, nil, nil); err != nil {
			return out, fmt.Errorf("%s %s: %w", resource.GetKind(), resource.GetName(), err)
		}
		object, err := resource.Map()
		if err != nil {
			return out, err
		}
		out.Objects = append(out.Objects, object)
	}
	return out, nil
}
