// Command million makes a large collection of a small one: of each of its passages several like it. Nothing is encoded,
// so that what a collection of a million passages costs can be measured in an hour.
//
//	go run ./research/bench/million -from COLLECTION -passages 1000000 -to NEW
//
// The first passages are those of COLLECTION. Of each further one a passage of COLLECTION is the pattern: three of ten
// words are replaced by words that stand anywhere in COLLECTION, one of 250 by a new word. A vector is the pattern's
// and a share of the difference of two other passages' vectors, so that noise has the directions that differences have;
// so is the vector of a token. Each passage has a number from 0 to 999 (field "part") and the number of its pattern's
// tenth (field "tenth"), which are for filters and facets. The same arguments make the same collection.
//
// With -segments it has several segments. With -merge a collection's segments are merged into one, as a server
// merges them:
//
//	go run ./research/bench/million -from COLLECTION -passages 80000 -segments 8 -to NEW
//	go run ./research/bench/million -merge NEW
//
// Printed are the time of the clock, processor time, bytes, and the most memory that the process had which is no
// file's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

func main() {
	from := flag.String("from", "", "folder of the collection that gives the patterns")
	to := flag.String("to", "", "folder of the new collection")
	passages := flag.Int("passages", 100_000, "passages of the new collection")
	segments := flag.Int("segments", 1, "segments of the same size in which the collection is made")
	merged := flag.String("merge", "", "folder of a collection whose segments are merged, and nothing else is done")
	flag.Parse()
	var err error
	if *merged != "" {
		err = merge(*merged)
	} else {
		err = run(*from, *to, *passages, *segments)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run makes the collection to, of n passages in so many segments, of the one in from, and prints what it cost.
func run(from, to string, n, segments int) (err error) {
	c, err := folder.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	g := c.Acquire()
	defer g.Release()
	patterns, err := readAll(g.Source())
	if err != nil {
		return err
	}
	stored, err := g.StoredEncoders()
	if err != nil {
		return err
	}
	maker := &maker{patterns: patterns}
	options := store.BuildOptions{Words: g.WordParams(), New: true, Progress: newProgress(os.Stderr)}
	for _, e := range stored {
		options.Experts = append(options.Experts, &likeEncoder{patterns: e, maker: maker})
	}
	watch := watchMemory()
	began := time.Now()
	for i := range segments {
		part := &stream{maker: maker, next: n * i / segments, total: n * (i + 1) / segments}
		add := folder.Add
		if i == 0 {
			add = folder.Build
		}
		if _, err := add(context.Background(), to, part, options); err != nil {
			return err
		}
		options.New = false
	}
	took := time.Since(began)
	most := watch()
	bytes, err := bytesIn(to)
	if err != nil {
		return err
	}
	tell(n, took, bytes, most)
	return nil
}

// merge merges all segments of a collection into one, and prints what it cost.
func merge(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "seg-*"))
	if err != nil {
		return err
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	options := store.BuildOptions{Threads: 1, Progress: newProgress(os.Stderr)}
	watch := watchMemory()
	began := time.Now()
	if _, err := folder.Merge(context.Background(), dir, names, options); err != nil {
		return err
	}
	took := time.Since(began)
	most := watch()
	c, err := folder.Open(dir)
	if err != nil {
		return err
	}
	g := c.Acquire()
	n := g.Len()
	g.Release()
	bytes, err := bytesIn(dir)
	if err := errors.Join(err, c.Close()); err != nil {
		return err
	}
	tell(n, took, bytes, most)
	return nil
}

// tell prints what a collection of n passages cost: the time, its bytes, and the most memory that is no file's.
func tell(n int, took time.Duration, bytes, most int64) {
	fmt.Printf(
		"%d passages: %.0f s, %.0f s of processor time (%.2f ms a passage), %.2f kB a passage, "+
			"at most %d MiB of memory that is no file's\n",
		n, took.Seconds(), processorTime().Seconds(), 1000*processorTime().Seconds()/float64(n),
		float64(bytes)/float64(n)/1000, most>>20,
	)
}

// readAll returns all passages of a stream.
func readAll(s store.Stream) (all []corpus.Passage, err error) {
	for {
		p, err := s.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// The shares of words that are replaced, by another one and by a new one, and of the noise in a vector.
const (
	otherWords = 0.3
	newWords   = 0.004
	noise      = 0.35
)

// maker makes passages like its patterns.
type maker struct{ patterns []corpus.Passage }

// passage returns the passage with the number i: a pattern itself, or one like the pattern with i's remainder.
func (m *maker) passage(i int) corpus.Passage {
	k := i % len(m.patterns)
	p := m.patterns[k]
	p.Metadata = map[string]any{"part": i % 1000, "tenth": strconv.Itoa(10 * k / len(m.patterns))}
	p.ID = fmt.Sprintf("%d/%s", i, p.ID)
	p.Tags = nil
	if i < len(m.patterns) {
		return p
	}
	rng := rand.New(rand.NewPCG(uint64(i), 1))
	words := strings.Fields(p.Text)
	for j := range words {
		switch draw := rng.Float64(); {
		case draw < newWords:
			words[j] = "w" + strconv.FormatUint(rng.Uint64(), 36)
		case draw < newWords+otherWords:
			if other := strings.Fields(m.patterns[rng.IntN(len(m.patterns))].Text); len(other) > 0 {
				words[j] = other[rng.IntN(len(other))]
			}
		}
	}
	p.Text = strings.Join(words, " ")
	return p
}

// number returns the number of a passage that passage made. It fails if the id is another one's.
func (m *maker) number(p corpus.Passage) (int, error) {
	digits, _, _ := strings.Cut(p.ID, "/")
	i, err := strconv.Atoi(digits)
	if err != nil {
		return 0, fmt.Errorf("passage %q has no number before its id", p.ID)
	}
	return i, nil
}

// stream gives the passages from 0 up to total.
type stream struct {
	maker       *maker
	next, total int
}

// Next returns the next passage; io.EOF after the last.
func (s *stream) Next() (corpus.Passage, error) {
	if s.next == s.total {
		return corpus.Passage{}, io.EOF
	}
	s.next++
	return s.maker.passage(s.next - 1), nil
}

// Place returns the number of the last passage as its line.
func (s *stream) Place() corpus.Place { return corpus.Place{File: "generated", Line: s.next} }

// Progress returns how many passages were given, of how many.
func (s *stream) Progress() (done, total int64) { return int64(s.next), int64(s.total) }

// likeEncoder gives a generated passage the vectors of its pattern with noise.
type likeEncoder struct {
	patterns store.PassageEncoder // gives the patterns' vectors
	maker    *maker
}

// Name returns the name of the patterns' expert.
func (e *likeEncoder) Name() string { return e.patterns.Name() }

// Dimension returns how many numbers a vector has.
func (e *likeEncoder) Dimension() int { return e.patterns.Dimension() }

// Fingerprint returns that of the patterns' expert, so that the expert itself can search the vectors.
func (e *likeEncoder) Fingerprint() string { return e.patterns.Fingerprint() }

// Late reports whether a passage has a vector for each token.
func (e *likeEncoder) Late() bool { return e.patterns.Late() }

// Parts returns nil: a passage is not cut into parts.
func (e *likeEncoder) Parts() func(text string) []rank.Span { return nil }

// Owner returns the name of the expert whose vectors this one searches; "" if it has its own.
func (e *likeEncoder) Owner() string { return e.patterns.Owner() }

// EncodePassages returns the vectors of generated passages. It fails if a pattern has no stored vector.
func (e *likeEncoder) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	out := make([][]float32, len(passages))
	for j, p := range passages {
		i, err := e.maker.number(p)
		if err != nil {
			return nil, err
		}
		n := len(e.maker.patterns)
		rng := rand.New(rand.NewPCG(uint64(i), 2))
		of, err := e.patterns.EncodePassages(ctx, []corpus.Passage{
			e.maker.patterns[i%n], e.maker.patterns[rng.IntN(n)], e.maker.patterns[rng.IntN(n)],
		})
		if err != nil {
			return nil, err
		}
		out[j] = of[0]
		if i >= n {
			out[j] = addNoise(of[0], of[1], of[2], e.Dimension())
		}
	}
	return out, ctx.Err()
}

// addNoise returns each vector of a list, of dim numbers each, with a share of the difference of two vectors of the
// other lists, scaled to the length that it had, or to 1 if that was more. The lists a and b are begun anew where they
// end.
func addNoise(list, a, b []float32, dim int) []float32 {
	out := make([]float32, len(list))
	for at := 0; at+dim <= len(list); at += dim {
		var before, after float64
		for k := range dim {
			v := list[at+k] + noise*(a[(at+k)%len(a)]-b[(at+k)%len(b)])
			before += float64(list[at+k]) * float64(list[at+k])
			after += float64(v) * float64(v)
			out[at+k] = v
		}
		scale := float32(math.Sqrt(min(before, 1) / max(after, 1e-12)))
		for k := range dim {
			out[at+k] *= scale
		}
	}
	return out
}

// newProgress returns a function that prints each stage, its rate and the memory that is no file's, at most every ten
// seconds.
func newProgress(w io.Writer) func(store.Progress) {
	var last time.Time
	var stage store.Stage
	var began time.Time
	return func(p store.Progress) {
		if p.Stage != stage {
			stage = p.Stage
			began = time.Now()
			last = time.Time{}
		}
		if time.Since(last) < 10*time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(w, "%v %s %d of %d %s, %.0f/s, %d MiB\n", p.Stage, p.Expert, p.Done, p.Total, p.Unit,
			float64(p.Done)/max(time.Since(began).Seconds(), 0.1), anonymousMemory()>>20)
	}
}

// watchMemory begins to look, ten times a second, at how much memory the process has that is no file's. The result
// ends that and returns the most.
func watchMemory() (end func() int64) {
	stop := make(chan struct{})
	var most int64
	var done sync.WaitGroup
	done.Go(func() {
		for {
			most = max(most, anonymousMemory())
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return func() int64 { close(stop); done.Wait(); return most }
}

// anonymousMemory returns the resident bytes of the process that are no file's; 0 where the system does not tell.
func anonymousMemory() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// processorTime returns how much processor time the process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bytesIn returns the sum of the sizes of all files in a folder.
func bytesIn(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		sum += info.Size()
		return err
	})
	return sum, err
}
