package provision

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Installation holds the paths of what was installed together with the program, and need not be fetched. A path is ""
// if it was not installed.
type Installation struct {
	Kind       InstallationKind
	Runtime    string // file of the ONNX Runtime library
	Checkpoint string // folder of the base encoder's weights as published
}

// InstallationKind says how a program came to a machine.
type InstallationKind string

// The kinds of installations; "" is of a program that was built alone.
const (
	Unpacked InstallationKind = "archive"
	ByPip    InstallationKind = "pip"
)

// oldestRuntime is the first minor release of ONNX Runtime 1 with the API that the Go wrapper asks for.
const oldestRuntime = 24

// FindInstallation returns what was installed beside a program. An unpacked archive has it in share/conclave of the
// folder above the program's, in the layout of the cache. In an environment of Python the program lies in the package
// conclave_server, the runtime in the package onnxruntime, and the weights in conclave_models, which has the layout of
// the cache, too. It verifies nothing.
func FindInstallation(program string) Installation {
	if resolved, err := filepath.EvalSymlinks(program); err == nil {
		program = resolved
	}
	root := filepath.Dir(filepath.Dir(program))
	if _, err := os.Stat(filepath.Join(root, "__init__.py")); err == nil {
		packages := filepath.Dir(root)
		return Installation{
			Kind:    ByPip,
			Runtime: runtimeOfPython(filepath.Join(packages, "onnxruntime", "capi")),
			Checkpoint: existingPath(
				Cache{Root: filepath.Join(packages, "conclave_models")}.Checkpoint(BaseCheckpoint),
			),
		}
	}
	shared := Cache{Root: filepath.Join(root, "share", "conclave")}
	found := Installation{
		Runtime: existingPath(shared.Library()), Checkpoint: existingPath(shared.Checkpoint(BaseCheckpoint)),
	}
	if existingPath(shared.Root) != "" || existingPath(filepath.Join(root, "share", "doc", "conclave")) != "" {
		found.Kind = Unpacked
	}
	return found
}

// ownInstallation returns what was installed beside this program; the zero value if its path is unknown.
func ownInstallation() Installation {
	program, err := os.Executable()
	if err != nil {
		return Installation{}
	}
	return FindInstallation(program)
}

// runtimeOfPython returns the path of an ONNX Runtime library that lies directly in folder, which is the folder capi of
// the Python package onnxruntime; "" if there is none that is new enough. It may be of another release than the pinned
// one.
func runtimeOfPython(folder string) string {
	before, after := "libonnxruntime.so.", ""
	if runtime.GOOS == "darwin" {
		before, after = "libonnxruntime.", ".dylib"
	}
	found, _ := filepath.Glob(filepath.Join(folder, before+"*"+after))
	for _, library := range found {
		release := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(library), before), after)
		parts := strings.Split(release, ".")
		if len(parts) != 3 || parts[0] != "1" {
			continue
		}
		if minor, err := strconv.Atoi(parts[1]); err == nil && minor >= oldestRuntime {
			return library
		}
	}
	return ""
}

// existingPath returns path if there is a file or folder, else "".
func existingPath(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// installedRuntime returns the path of the library that was installed with the program; ok is false if there is none or
// it is damaged. Only a library of the pinned release is verified (pip verifies others).
func (c Cache) installedRuntime() (library string, ok bool) {
	library = c.Installed.Runtime
	if library == "" {
		return "", false
	}
	wheel, err := runtimeWheel(runtime.GOOS, runtime.GOARCH)
	if err != nil || filepath.Base(library) != wheel.Members[0].Name {
		return library, true
	}
	return library, fileHas(library, wheel.Members[0].SHA256) == nil
}

// installedBase returns the folder of the weights that were installed with the program; ok is false if there is none or
// it is damaged.
func (c Cache) installedBase() (folder string, ok bool) {
	folder = c.Installed.Checkpoint
	return folder, folder != "" && verifyMembers(folder, baseWheel().Members) == nil
}

// Lacks returns a phrase for each thing that should lie beside the program, by its kind of installation, and is missing
// or damaged: what it is, and where it is looked for or what brings it. It returns nil if everything is there.
func (c Cache) Lacks() (lacks []string) {
	installed := c.Installed
	note := func(name, path string, whole bool, from string) {
		switch {
		case whole:
		case path == "":
			lacks = append(lacks, name+" is not there ("+from+")")
		default:
			lacks = append(lacks, name+" is damaged: "+path)
		}
	}
	runtimeFrom, weightsFrom := "", ""
	switch installed.Kind {
	case Unpacked:
		runtimeFrom = "share/conclave/onnxruntime-" + RuntimeVersion + " of the archive"
		weightsFrom = "share/conclave/checkpoints of the archive"
	case ByPip:
		runtimeFrom = "of the package onnxruntime, 1." + strconv.Itoa(oldestRuntime) + " or later"
		weightsFrom = "of the package conclave-models"
	default:
		return nil
	}
	_, whole := c.installedRuntime()
	note("the runtime", installed.Runtime, whole, runtimeFrom)
	_, whole = c.installedBase()
	note("the base encoder's weights", installed.Checkpoint, whole, weightsFrom)
	return lacks
}

// Install unpacks the runtime for a platform and the base encoder's weights into the folder into, in the layout of
// the cache, as an installation has them. It fetches archives that are missing in this cache. goos and goarch are
// as in Go; a platform without a pinned runtime is an error. What was unpacked before an error stays.
func (c Cache) Install(ctx context.Context, goos, goarch, into string, pip Pip) error {
	wheel, err := runtimeWheel(goos, goarch)
	if err != nil {
		return err
	}
	target := Cache{Root: into}
	for folder, wheel := range map[string]Wheel{
		filepath.Dir(target.Library()):    wheel,
		target.Checkpoint(BaseCheckpoint): baseWheel(),
	} {
		if _, err := c.ensureUnpacked(ctx, wheel, folder, pip); err != nil {
			return err
		}
	}
	return nil
}
