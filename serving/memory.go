package serving

import (
	"fmt"

	"conclave/configs"
	"conclave/handlers"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// requestShare is which part of the machine's memory the bodies and answers of
// requests may take when nobody says.
const requestShare = 4

// machineMemory is the memory that this process may use, in bytes: the machine's, or
// what its control group has of it.
func machineMemory() (int64, error) {
	all, err := memlimit.FromSystem()
	if err != nil {
		return 0, fmt.Errorf("asking how much memory there is: %w", err)
	}
	if group, err := memlimit.FromCgroup(); err == nil { // there may be none
		all = min(all, group)
	}
	return int64(all), nil
}

// requestMemory is what the bodies and answers of requests may take together, in bytes.
func requestMemory(l configs.Limits) (int64, error) {
	least := l.LeastMemory(handlers.RoomFor(int64(limitsOf(l).RoomBytes())))
	if l.Memory == 0 {
		all, err := machineMemory()
		return max(all/requestShare, least), err
	}
	if int64(l.Memory) < least {
		return 0, fmt.Errorf("limits.memory is %v, and one answer of limits.answer_bytes (%v) or one body of limits.body_bytes (%v) or limits.line_bytes (%v) may need more: set it to at least %v, or lower those",
			l.Memory, l.AnswerBytes, l.BodyBytes, l.LineBytes, configs.ByteSize(least))
	}
	return int64(l.Memory), nil
}
