package serving

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"conclave/calibration"
)

// recordStamp tells one calibration of a collection from the next; the zero
// value is none. `conclave calibrate` puts a new file in the place of the old.
type recordStamp struct {
	size int64
	when time.Time
}

func stampOfRecord(folder string) recordStamp {
	info, err := os.Stat(filepath.Join(folder, calibration.RecordFile))
	if err != nil {
		return recordStamp{}
	}
	return recordStamp{info.Size(), info.ModTime()}
}

// keepCalibrated lets searches use a calibration that was made while the
// collection is served, until ctx is done and the function that it returns was
// called. One that cannot be used changes nothing; /readyz says why.
func (l *Assembly) keepCalibrated(ctx context.Context) (finish func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		again := time.NewTicker(reloadEvery)
		defer again.Stop()
		for {
			select {
			case <-again.C:
				l.recalibrate()
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { <-ended }
}

// recalibrate lets searches use the collection's calibration when it is another
// one than theirs.
func (l *Assembly) recalibrate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if stampOfRecord(l.config.Collection) == l.record {
		return
	}
	if err := l.reconfigure(); err != nil {
		l.log.Warn("the newest calibration cannot be used", "cause", err)
	} else if l.refused == "" {
		l.log.Info("searches use another calibration")
	}
}
