package vectors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/ann"
	"example.org/conclave/internal/rank"
)

// TestAnswerFiltered: an answer has the rows with the largest products of those whose number is in the range.
func TestAnswerFiltered(t *testing.T) {
	const n, dim = 300, 16
	dir := t.TempDir()
	o := Trial{
		Vectors: filepath.Join(dir, "v.f16"), Queries: filepath.Join(dir, "q.f16"), Dim: dim, Kind: ann.HNSW, Ef: []int{n},
	}
	if err := Generate(o.Vectors, n, dim, 1, 0); err != nil {
		t.Fatal(err)
	}
	if err := Generate(o.Queries, 2, dim, 1, n); err != nil {
		t.Fatal(err)
	}
	rows, err := readVectors(o.Vectors, dim)
	if err != nil {
		t.Fatal(err)
	}
	queries, err := readVectors(o.Queries, dim)
	if err != nil {
		t.Fatal(err)
	}
	var columns []byte
	for column := range 2 { // n-1 to 0, and 0 to n-1
		for row := range n {
			columns = binary.LittleEndian.AppendUint32(columns, uint32([]int{n - 1 - row, row}[column]))
		}
	}
	path := filepath.Join(dir, "columns")
	if err := os.WriteFile(path, columns, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	asks := `{"query":1,"column":0,"low":0,"high":40,"k":5}` + "\n" + `{"query":0,"column":1,"low":7,"high":8,"k":5}` + "\n"
	if err := AnswerFiltered(t.Context(), o, path, strings.NewReader(asks), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || lines[0] != `{"rows":300}` {
		t.Fatalf("%s", out.String())
	}
	var one, two Found
	if json.Unmarshal([]byte(lines[1]), &one) != nil || json.Unmarshal([]byte(lines[2]), &two) != nil {
		t.Fatalf("%s", out.String())
	}
	if len(two.Rows) != 1 || two.Rows[0] != 7 {
		t.Errorf("%v", two.Rows)
	}
	product := func(row rank.Ordinal) (sum float64) {
		for d := range dim {
			sum += float64(rows[int(row)*dim+d]) * float64(queries[dim+d])
		}
		return sum
	}
	var best []rank.Ordinal
	for row := rank.Ordinal(n - 40); row < n; row++ {
		best = append(best, row)
	}
	slices.SortFunc(best, func(a, b rank.Ordinal) int { return int(1e6 * (product(b) - product(a))) })
	if !slices.Equal(one.Rows, best[:5]) || one.Mark > one.Seconds {
		t.Errorf("%+v, want %v", one, best[:5])
	}
}
