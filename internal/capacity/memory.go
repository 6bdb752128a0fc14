// Package capacity says what a machine has, in memory and in files, and how much of it a server
// takes.
package capacity

import (
	"fmt"
	"runtime"

	"example.org/conclave/configs"
	"example.org/conclave/internal/overload"
	"example.org/conclave/search"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// requestShare divides the machine's memory: limits.memory is this part of it if the configuration sets none.
const requestShare = 4

// MachineMemory returns the memory in bytes that this process may use: the machine's, or the limit of its control
// group if that is less. It fails if the system does not say.
func MachineMemory() (int64, error) {
	all, err := memlimit.FromSystem()
	if err != nil {
		return 0, fmt.Errorf("asking how much memory there is: %w", err)
	}
	if group, err := memlimit.FromCgroup(); err == nil { // there may be none
		all = min(all, group)
	}
	return int64(all), nil
}

// RequestMemory returns how many bytes the bodies and answers of requests may take together: limits.memory without the
// memory of the processes that read files, but at least what the largest allowed request needs. A server that is
// read-only reads no files, and has all of limits.memory. It fails if limits.memory is set and too small for that
// request, or if it is 0 and the machine's memory is not known.
func RequestMemory(cfg configs.Config) (int64, error) {
	all, err := MemoryLimit(cfg.Limits)
	if err != nil || cfg.ReadOnly {
		return all, err
	}
	readers, err := Readers(cfg)
	return max(all-readers.Total(), leastOf(cfg.Limits)), err
}

// ReaderProcesses is the number and the memory of the processes that read files.
type ReaderProcesses struct {
	Workers int   // that read at the same time
	Memory  int64 // bytes that one of them may take beyond three times its file
}

// Total returns the bytes that all of them may take together, without what their files add.
func (r ReaderProcesses) Total() int64 { return int64(r.Workers) * r.Memory }

// Readers returns the number and memory of the processes that read files, by the configuration: together at most half
// of limits.memory, but each at least leastReader. Without a configured number there is one for two processors. It
// fails if limits.memory is set and too small for the largest allowed request, or if it is 0 and the machine's memory
// is not known.
func Readers(cfg configs.Config) (ReaderProcesses, error) {
	all, err := MemoryLimit(cfg.Limits)
	workers := cfg.Documents.Workers
	if workers == 0 {
		workers = max(1, runtime.GOMAXPROCS(0)/2)
	}
	memory := min(int64(cfg.Documents.Memory), all/2/int64(workers))
	return ReaderProcesses{workers, max(memory, leastReader)}, err
}

// leastReader is the memory in bytes that PDFium and Go need for an ordinary file.
const leastReader = 256 << 20

// leastOf returns the least limits.memory with which every allowed request can be answered.
func leastOf(l configs.Limits) int64 {
	return leastMemory(l, overload.RoomFor(int64(Limits(l).RoomBytes())))
}

// MemoryLimit returns limits.memory in bytes; if it is 0, a quarter of the machine's memory, or more if the largest
// allowed request needs that. It fails if it is set and too small for that request, or if the machine's memory is
// not known.
func MemoryLimit(l configs.Limits) (int64, error) {
	least := leastOf(l)
	if l.Memory == 0 {
		all, err := MachineMemory()
		return max(all/requestShare, least), err
	}
	if int64(l.Memory) < least {
		return 0, fmt.Errorf(
			"limits.memory is %v, and one answer of limits.answer_bytes (%v) or one body of limits.body_bytes (%v) or limits.line_bytes (%v) may need more: set it to at least %v, or lower those",
			l.Memory, l.AnswerBytes, l.BodyBytes, l.LineBytes, configs.ByteSize(least),
		)
	}
	return int64(l.Memory), nil
}

// Memory is the most memory in bytes that a server takes, whatever the load, in addition to mapped files of the
// collection and the models.
type Memory struct {
	// Requests: the bodies that are being read and the answers that are made or sent,
	// all together. The server keeps to it.
	Requests int64
	// Readers: the processes that read files. The system keeps them to it.
	Readers int64
	// Work: limits.concurrency searches of ordinary size, or fewer larger ones:
	// what their sources found, and how it was ranked.
	Work int64
	// Writing: changes that wait (ingest.backlog, about 150 bytes each), what indexing
	// them takes, and the uploads that may be under way.
	Writing int64
	// Encoders: the activations of a pass of encoder.batch_tokens through each
	// expert, and the encoder.cache_entries of question vectors.
	Encoders int64
}

// ExpertSize is the size of an expert's encoder, by which the memory of its work is estimated.
type ExpertSize struct {
	Width     int // numbers of a token's vector inside of the encoder
	MaxTokens int // of a passage
}

const (
	changeBytes = 150       // of a change that waits to be flushed
	flushBytes  = 32 << 20  // texts of a flush: store/folder, flushBytes
	wordBytes   = 512 << 20 // postings before they go to a file, as package collection builds
	openUploads = 16        // for each that stores: handlers.openUploads
	uploadBytes = 2 << 20   // of an upload beside two lines: handlers.uploadChunk read, and as much stored
	// collected is how much larger the heap gets than what is in use before it is
	// collected (GOGC=100).
	collected = 2
	// bodyShare is which part of the memory of requests is for their bodies.
	bodyShare = 8
)

// Rooms returns how many bytes of the memory for requests may be in use by answers and by bodies: together half of
// it, so that garbage that is not collected yet fits, too.
func Rooms(memory int64) (answers, body int64) {
	body = memory / collected / bodyShare
	return memory/collected - body, body
}

// leastMemory returns the least memory for requests that has the given room for answers, and room for the largest body,
// whose buffer doubles as it grows.
func leastMemory(l configs.Limits, answers int64) int64 {
	body := 2 * int64(max(l.BodyBytes, l.LineBytes))
	return collected * bodyShare * max(body, (answers+bodyShare-2)/(bodyShare-1))
}

// MostMemory returns an estimate of the most memory, in bytes, that a server with this configuration takes, by purpose.
// requests is the memory for requests and their answers (RequestMemory), experts are the sizes of those that are
// loaded. It does not count the models and the mapped files.
func MostMemory(cfg configs.Config, requests int64, experts []ExpertSize) Memory {
	l := cfg.Limits
	sources := int64(len(experts) + 3) // words, phrases and nearness
	// For each hundred results or candidates there is a place: of each source a
	// hundred hits (8 bytes), which make up to so many rows of the table of candidates
	// (32 bytes, and a cell of 12 for each source), and a hundred results (232 bytes,
	// and 120 for each source). What grows doubles.
	place := 2 * 100 * (sources*(8+32+12*sources) + 232 + 120*sources)
	m := Memory{Requests: requests, Work: collected * int64(l.Concurrency) * place}
	if !cfg.ReadOnly {
		if readers, err := Readers(cfg); err == nil { // else the requests' memory is not known either
			m.Readers = readers.Total()
		}
		uploads := openUploads * int64(l.Uploads) * (uploadBytes + 2*int64(l.LineBytes))
		m.Writing = collected * (changeBytes*int64(cfg.Ingest.Backlog) + 2*flushBytes + wordBytes + uploads)
	}
	for _, x := range experts {
		// BERT has a head for each 32 to 64 numbers. Between two layers there are
		// the input, queries, keys, values, the context and the four times as wide
		// layer before and after its activation, and the scores of each head
		// before and after the softmax; a number has 4 bytes.
		heads := int64(x.Width+31) / 32
		token := 4 * (16*int64(x.Width) + 2*heads*int64(x.MaxTokens))
		cached := 4*int64(x.Width) + int64(changeBytes)
		m.Encoders += int64(cfg.Encoder.BatchTokens)*token + collected*int64(cfg.Encoder.CacheEntries)*cached
	}
	return m
}

// Total returns the sum.
func (m Memory) Total() int64 { return m.Requests + m.Readers + m.Work + m.Writing + m.Encoders }

// Limits returns the limits of searches by a configuration.
func Limits(l configs.Limits) search.Limits {
	return search.Limits{
		K: l.K, Candidates: l.Candidates, QuestionBytes: int(l.QuestionBytes), Timeout: l.Timeout,
		Batch: l.Batch, BatchParallel: l.BatchParallel, EmbedInputs: l.EmbedInputs, EmbedBytes: int(l.EmbedBytes),
		AnswerBytes: int(l.AnswerBytes),
	}
}
