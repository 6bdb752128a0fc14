package calibration

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// inParallel calls do for every number from 0 to n-1, on all processors, and
// returns the error of the lowest for which there was one. do must touch nothing
// that belongs to another number.
func inParallel(n int, do func(i int) error) error {
	const share = 16 // of the numbers, taken at a time
	errs := make([]error, (n+share-1)/share)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(errs)) {
		workers.Go(func() {
			for at := int(next.Add(1)) - 1; at < len(errs); at = int(next.Add(1)) - 1 {
				for i := at * share; i < min((at+1)*share, n) && errs[at] == nil; i++ {
					errs[at] = do(i)
				}
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
