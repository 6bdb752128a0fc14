package encoder

/*
#include <signal.h>
#include <stdint.h>

// _NSIG counts glibc's and musl's signals, NSIG the BSDs' and macOS's.
#ifdef _NSIG
enum { signals = _NSIG };
#else
enum { signals = NSIG };
#endif

typedef struct {
	struct sigaction actions[signals];
	char known[signals];
} handlers;

static void save_handlers(handlers *h) {
	for (int s = 1; s < signals; s++)
		h->known[s] = sigaction(s, 0, &h->actions[s]) == 0;
}

static void restore_handlers(const handlers *h) {
	for (int s = 1; s < signals; s++)
		if (h->known[s])
			sigaction(s, &h->actions[s], 0); // fails for SIGKILL and SIGSTOP
}

static uintptr_t handler_of(int s) {
	struct sigaction a;
	return sigaction(s, 0, &a) == 0 ? (uintptr_t)a.sa_sigaction : 0;
}

static void ignore_signal(int s) {
	struct sigaction a = {0};
	a.sa_handler = SIG_IGN;
	sigaction(s, &a, 0);
}
*/
import "C"

// keepSignalHandlers saves the process's signal handlers and returns a function that restores them, to be called
// once. The CUDA provider installs handlers of its own when it is loaded, and a Go program without Go's handlers
// dies of the first SIGURG, or does not notice SIGTERM.
func keepSignalHandlers() (restore func()) {
	h := new(C.handlers)
	C.save_handlers(h)
	return func() { C.restore_handlers(h) }
}

// signalHandler returns the address of a signal's handler, 0 if it cannot be read, for the test, which cannot use
// cgo itself.
func signalHandler(number int) uintptr { return uintptr(C.handler_of(C.int(number))) }

// ignoreSignal makes the process ignore a signal, as foreign code might do, for the test.
func ignoreSignal(number int) { C.ignore_signal(C.int(number)) }
