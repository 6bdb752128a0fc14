package fault

import (
	"errors"
)

// ErrUnreadable is the error of a source one of whose mapped files cannot be read.
var ErrUnreadable = errors.New("a file that is mapped into memory cannot be read: it was cut, or its disk fails")
