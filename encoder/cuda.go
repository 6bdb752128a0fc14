package encoder

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

// open_library keeps a library in the process, for those that need it by its name alone. It returns
// NULL, or why it cannot be loaded.
static const char *open_library(const char *path) {
	return dlopen(path, RTLD_LAZY | RTLD_GLOBAL) ? NULL : dlerror();
}
*/
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"example.org/conclave/models"
)

// GPU says which GPU graphs run on with CUDA, and what they may take of it.
type GPU struct {
	Device int   // its number, from 0
	Memory int64 // bytes that each graph may take of its memory, weights included; 0: no bound
}

// driver is the library of NVIDIA's driver. It has to be installed on the system; no package has it.
const driver = "libcuda.so.1"

// CUDAError says that the provider cuda cannot be used.
type CUDAError struct {
	Driver bool // there is no driver
	Err    error
}

// Error says why CUDA cannot be used, and what it needs.
func (e *CUDAError) Error() string {
	if e.Driver {
		return fmt.Sprintf("the provider cuda is not available: there is no NVIDIA driver: %v", e.Err)
	}
	return fmt.Sprintf(
		"the provider cuda is not available: %s; it needs an NVIDIA GPU with its driver, and the libraries of the PyPI packages onnxruntime-gpu, nvidia-cublas and nvidia-cudnn-cu13",
		e.shortCause(),
	)
}

// Unwrap returns the cause.
func (e *CUDAError) Unwrap() error { return e.Err }

// EightBitsError says that a graph in 8 bits was to run with CUDA, which has no kernels for it: it would
// run on the processor.
type EightBitsError struct{ Name string }

// Error says which graph cannot run with CUDA.
func (e *EightBitsError) Error() string {
	return fmt.Sprintf("the graph of %s is in 8 bits, which runs on the processor alone, and not with cuda", e.Name)
}

// runsOnCUDA returns an *EightBitsError if CUDA has no kernels for graphs of this precision. name is the bundle's.
func runsOnCUDA(precision, name string) error {
	if precision == models.PrecisionInt8 {
		return &EightBitsError{Name: name}
	}
	return nil
}

// Driver returns a *CUDAError if the process cannot load NVIDIA's driver.
func Driver() error {
	if err := openLibrary(driver); err != nil {
		return &CUDAError{Driver: true, Err: err}
	}
	return nil
}

// LoadLibraries loads shared libraries into the process, in this order, so that the runtime, which needs them by their
// names alone, finds them wherever they lie. It goes on after a failure; the error names all that cannot be loaded.
func LoadLibraries(paths ...string) (err error) {
	defer keepSignalHandlers()()
	for _, path := range paths {
		err = errors.Join(err, openLibrary(path))
	}
	return err
}

// openLibrary loads a shared library for the rest of the process, where other libraries find it by its name. The
// error is the system's.
func openLibrary(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if why := C.open_library(name); why != nil {
		return errors.New(C.GoString(why))
	}
	return nil
}

// checkAvailable returns a *CUDAError if the loaded runtime cannot use the GPU.
func (g GPU) checkAvailable() error {
	defer keepSignalHandlers()()
	options, err := ort.NewSessionOptions()
	if err != nil {
		return err
	}
	defer func() { _ = options.Destroy() }()
	return g.appendTo(options)
}

// appendTo sets up session options to run with CUDA on the GPU. It returns a *CUDAError if that is not possible.
func (g GPU) appendTo(o *ort.SessionOptions) error {
	if err := Driver(); err != nil {
		return err
	}
	cuda, err := ort.NewCUDAProviderOptions()
	if err == nil {
		defer func() { _ = cuda.Destroy() }()
		err = errors.Join(cuda.Update(g.providerOptions()), o.AppendExecutionProviderCUDA(cuda))
	}
	if err != nil {
		return &CUDAError{Err: err}
	}
	return nil
}

// messageOfCUDA matches CUDA's own message in an error of the runtime, among the places of the code.
var messageOfCUDA = regexp.MustCompile(`CUDA failure \d+: [^;]+|with error: (.+)`)

// shortCause returns CUDA's own message in the runtime's error, without places in the runtime's code; the whole
// error if it has none.
func (e *CUDAError) shortCause() string {
	message := messageOfCUDA.FindStringSubmatch(e.Err.Error())
	if message == nil {
		return e.Err.Error()
	}
	return strings.TrimSpace(cmp.Or(message[1], message[0]))
}

// providerOptions returns the options of the CUDA provider. Matrices of float32 are multiplied by the tensor cores, as
// TF32, which rounds the factors to 10 bits; a graph in 8 bits would round them more.
func (g GPU) providerOptions() map[string]string {
	options := map[string]string{
		"device_id": strconv.Itoa(g.Device),
		"use_tf32":  "1",
		// Memory grows by what is asked for and not by doubling, so that a bound can be used up.
		"arena_extend_strategy": "kSameAsRequested",
	}
	if g.Memory > 0 {
		options["gpu_mem_limit"] = strconv.FormatInt(g.Memory, 10)
	}
	return options
}
