package vectors

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/x448/float16"
)

// Generate writes n unit vectors of dim elements as half-precision numbers, to a path that ends in .f16: clusters of
// different size and spread in a space of few dimensions, with a little noise in all. It stands in for the vectors of
// a corpus larger than those at hand. The space and the clusters follow from the seed alone, the vectors from the
// seed and first, the number of the first: a second call with the same seed and another first gives new vectors from
// the same clusters, for instance queries. It fails for another name, and if the file cannot be written.
func Generate(path string, n, dim int, seed uint64, first int) (err error) {
	const latent, clusters, chunk = 32, 2000, 4096
	if !strings.HasSuffix(path, ".f16") {
		return fmt.Errorf("writing vectors to %s: they are half-precision numbers, so the name should end in .f16", path)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	axes := normals(rng, latent*dim, 1)
	centres := normals(rng, clusters*latent, 1)
	spreads, cumulated := make([]float64, clusters), make([]float64, clusters)
	total := 0.0
	for i := range clusters {
		spreads[i] = 0.3 + 0.5*rng.Float64()
		total += 1 / float64(i+20) // a few large clusters, many small ones
		cumulated[i] = total
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing vectors: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriterSize(file, 1<<20)
	workers := runtime.GOMAXPROCS(0)
	for low := 0; low < n; low += chunk * workers {
		parts := make([][]byte, workers)
		var group sync.WaitGroup
		for w := range parts {
			group.Go(func() {
				for i := low + w*chunk; i < min(low+(w+1)*chunk, n); i++ {
					rng := rand.New(rand.NewPCG(seed, uint64(first+i)+2))
					cluster := 0
					for at := rng.Float64() * total; cumulated[cluster] < at; cluster++ {
					}
					parts[w] = appendVector(parts[w], rng, axes, centres[cluster*latent:][:latent], spreads[cluster], dim)
				}
			})
		}
		group.Wait()
		for _, p := range parts {
			if _, err := out.Write(p); err != nil {
				return fmt.Errorf("writing %s: %w", path, err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// normals returns n random numbers with a normal distribution around 0 and the standard deviation sigma.
func normals(rng *rand.Rand, n int, sigma float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(sigma * rng.NormFloat64())
	}
	return out
}

// appendVector appends a random unit vector of dim elements near a centre, as half-precision numbers, to out and
// returns it. axes has a vector of dim elements for each coordinate of centre. spread is how far it may be from the
// centre.
func appendVector(out []byte, rng *rand.Rand, axes, centre []float32, spread float64, dim int) []byte {
	vector := normals(rng, dim, 0.6) // the noise
	for i, c := range centre {
		x := c + float32(spread*rng.NormFloat64())
		for j, a := range axes[i*dim:][:dim] {
			vector[j] += x * a
		}
	}
	square := 0.0
	for _, x := range vector {
		square += float64(x) * float64(x)
	}
	scale := float32(1 / math.Sqrt(square))
	for _, x := range vector {
		out = binary.LittleEndian.AppendUint16(out, float16.Fromfloat32(x*scale).Bits())
	}
	return out
}
