package handlers

import (
	"fmt"
	"net/http"
	"runtime/debug"
)

// recoverPanics answers 500 for a handler that panicked. Where the answer had
// begun, the connection is cut instead, so that half an answer is not taken
// for a whole one.
func recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			x := exchangeOf(r.Context())
			problem := problemOf(r.Context(), fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
			if rec, ok := w.(*recorder); ok && rec.code != 0 {
				x.code, x.cause = problem.Code, problem.cause
				panic(http.ErrAbortHandler)
			}
			writeProblem(w, r, problem)
		}()
		next.ServeHTTP(w, r)
	})
}
