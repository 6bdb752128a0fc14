package main

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/shipped/demo"
)

// measuredVectors is what programs read from `conclave-lab bench ann --json`.
type measuredVectors struct {
	Index          *string  `json:"index"`
	Rows           *int     `json:"rows"`
	BuildSeconds   *float64 `json:"build_s"`
	BytesPerVector *float64 `json:"bytes_per_vector"`
	Points         []struct {
		Ef        *int     `json:"ef"`
		QPS       *float64 `json:"qps"`
		Recall10  *float64 `json:"recall10"`
		Recall100 *float64 `json:"recall100"`
	} `json:"points"`
}

// measureVectors runs `conclave-lab bench ann … --json` and fails where a name that
// programs rely on is missing.
func measureVectors(t *testing.T, args ...string) measuredVectors {
	t.Helper()
	code, out, complaints := lab(t, append([]string{"bench", "ann", "--passes", "1", "--json"}, args...)...)
	var m measuredVectors
	if err := json.Unmarshal([]byte(out), &m); code != cli.ExitOK || err != nil {
		t.Fatalf("%v: exit code %d, %v, %s\n%s", args, code, err, complaints, out)
	}
	if m.Index == nil || m.Rows == nil || m.BuildSeconds == nil || m.BytesPerVector == nil || len(m.Points) == 0 {
		t.Fatalf("%v: a name is missing in %s", args, out)
	}
	for _, p := range m.Points {
		if p.Ef == nil || p.QPS == nil || p.Recall10 == nil || p.Recall100 == nil || *p.QPS <= 0 {
			t.Fatalf("%v: a name is missing in %s", args, out)
		}
	}
	return m
}

// TestBenchVectorsGenerated measures the sets that the command makes itself.
func TestBenchVectorsGenerated(t *testing.T) {
	t.Chdir(t.TempDir())
	files := []string{"--vectors", "v.f16", "--queries", "q.f16", "--dim", "24"}
	if code, out, complaints := lab(t, append([]string{"bench", "ann", "--generate", "2000"},
		files...)...); code != cli.ExitOK ||
		out != "" {
		t.Fatalf("exit code %d, %s%s", code, out, complaints)
	}
	for name, rows := range map[string]int64{"v.f16": 2000, "q.f16": generatedQueries} {
		if info, err := os.Stat(name); err != nil || info.Size() != rows*24*2 {
			t.Fatalf("%s: %v, %v", name, info, err)
		}
	}
	m := measureVectors(t, append(files, "--index", "hnsw", "--ef", "100,400", "--threads", "1")...)
	if *m.Index != "hnsw" || *m.Rows != 2000 || *m.BuildSeconds <= 0 || *m.BytesPerVector <= 24 || len(m.Points) != 2 {
		t.Errorf("%+v", m)
	}
	few, many := m.Points[0], m.Points[1]
	if *few.Ef != 100 || *many.Ef != 400 || *many.Recall10 < 0.99 || *many.Recall100 < 0.99 ||
		*few.Recall100 > *many.Recall100 {
		t.Errorf("%v %v; %v %v %v", *few.Ef, *few.Recall100, *many.Ef, *many.Recall10, *many.Recall100)
	}
	code, out, complaints := lab(t, append([]string{"bench", "ann", "--filters", "--ef", "100", "--json"}, files...)...)
	var shares []map[string]any
	if err := json.Unmarshal([]byte(out), &shares); code != cli.ExitOK || err != nil || len(shares) < 2 {
		t.Fatalf("exit code %d, %v, %s%s", code, err, out, complaints)
	}
	for _, name := range []string{"tags", "selectivity", "walk_qps", "scan_qps", "qps", "recall10", "exact"} {
		if _, ok := shares[1][name]; !ok {
			t.Errorf("%s is missing in %v", name, shares[1])
		}
	}
}

// TestBenchVectorsOfFiles measures files written here: half-precision rows
// without a header, and the nearest 100 rows of each query as int32. Elements
// are small multiples of 1/8, which half precision holds without rounding, and
// inner products are summed in integers.
func TestBenchVectorsOfFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	const rows, asked, dim = 600, 12, 32
	rng := rand.New(rand.NewPCG(8, 8))
	random := func(n int) []int {
		out := make([]int, n*dim)
		for i := range out {
			out[i] = rng.IntN(15) - 7 // eighths
		}
		return out
	}
	vectors, queries := random(rows), random(asked)
	var truth, reversed []byte
	for q := range asked {
		products, order := make([]int, rows), make([]int, rows)
		for row := range rows {
			order[row] = row
			for i := range dim {
				products[row] += queries[q*dim+i] * vectors[row*dim+i]
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(products[b], products[a]) })
		for i := range 100 {
			truth = binary.LittleEndian.AppendUint32(truth, uint32(order[i]))
			reversed = binary.LittleEndian.AppendUint32(reversed, uint32(order[rows-1-i]))
		}
	}
	for name, data := range map[string][]byte{
		"passages.f16": eighthsAsHalves(vectors), "questions.f16": eighthsAsHalves(queries),
		"truth100.i32": truth, "furthest.i32": reversed,
	} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := []string{"--vectors", "passages.f16", "--queries", "questions.f16", "--dim", fmt.Sprint(dim), "--index"}
	for kind, least := range map[string]float64{"flat": 1, "hnsw": 0.97, "coder": 0} {
		m := measureVectors(t, append(files, kind, "--truth", "truth100.i32", "--ef", "200")...)
		p := m.Points[0]
		if *m.Index != kind || *m.Rows != rows || *p.Recall10 < least || *p.Recall100 < least || *p.Recall10 > 1 ||
			*p.Recall100 > 1 {
			t.Errorf("%s: %d rows, recall %v and %v", kind, *m.Rows, *p.Recall10, *p.Recall100)
		}
		if kind == "flat" && *m.BytesPerVector != 2*dim {
			t.Errorf("%v bytes a vector, want %d", *m.BytesPerVector, 2*dim)
		}
	}
	if m := measureVectors(t, append(files, "flat", "--truth", "furthest.i32")...); *m.Points[0].Recall100 != 0 {
		t.Errorf("the furthest rows were found nearest: %v", *m.Points[0].Recall100)
	}
	code, out, _ := lab(t, append([]string{"bench", "ann", "--passes", "1"}, append(files, "flat")...)...)
	if code != cli.ExitOK || !containsAll(out, []string{"600 vectors of 32 numbers", "recall@100", "GB/s"}) {
		t.Errorf("for people: exit code %d\n%s", code, out)
	}
}

// eighthsAsHalves writes eighths between -7 and 7 as IEEE 754 half-precision
// numbers, little-endian.
func eighthsAsHalves(eighths []int) []byte {
	var out []byte
	for _, n := range eighths {
		half := uint16(0)
		if n != 0 {
			fraction, exponent := math.Frexp(math.Abs(float64(n)) / 8) // fraction in [0.5, 1)
			half = uint16(exponent-1+15)<<10 | uint16((2*fraction-1)*1024)
		}
		if n < 0 {
			half |= 1 << 15
		}
		out = binary.LittleEndian.AppendUint16(out, half)
	}
	return out
}

// TestBenchWords measures the demo's passages and questions.
func TestBenchWords(t *testing.T) {
	folder := t.TempDir()
	args := []string{"bench", "bm25", "--rounds", "1"}
	passages := 0
	for _, domain := range demo.Domains() {
		data := fromDemo(t, folder, "passages/"+domain+".jsonl")
		passages += strings.Count(data, "\n")
		args = append(args, "--in", filepath.Join(folder, "passages", domain+".jsonl"))
	}
	questions := strings.Count(fromDemo(t, folder, "questions/dev.jsonl"), "\n")
	args = append(args, "--questions", filepath.Join(folder, "questions", "dev.jsonl"))
	code, out, complaints := lab(t, append(args, "--json")...)
	var m map[string]float64
	if err := json.Unmarshal([]byte(out), &m); code != cli.ExitOK || err != nil {
		t.Fatalf("exit code %d, %v, %s\n%s", code, err, complaints, out)
	}
	for name, want := range map[string]int{"passages": passages, "questions": questions, "k": 100} {
		if m[name] != float64(want) {
			t.Errorf("%s is %v, want %d", name, m[name], want)
		}
	}
	for _, name := range []string{"build_s", "passages_per_s", "bytes_per_passage", "qps", "p50_us", "p99_us"} {
		if m[name] <= 0 {
			t.Errorf("%s is %v in %s", name, m[name], out)
		}
	}
	if code, out, _ := lab(t, args...); code != cli.ExitOK ||
		!containsAll(out, []string{fmt.Sprint(passages, " passages"), "questions/s"}) {
		t.Errorf("for people: exit code %d\n%s", code, out)
	}
}

// fromDemo puts a file of the demo into a folder and returns what is in it.
func fromDemo(t *testing.T, folder, name string) string {
	t.Helper()
	data, err := demo.FS.ReadFile(name)
	path := filepath.Join(folder, filepath.FromSlash(name))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestBenchRefuses what cannot be measured.
func TestBenchRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("v.f16", make([]byte, 30), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"ann", "--vectors", "v.f16"}, cli.ExitUsage, "--dim"},
		{[]string{"ann", "--vectors", "v.f16", "--dim", "3"}, cli.ExitUsage, "--queries"},
		{[]string{"ann", "--vectors", "v.f16", "--queries", "v.f16", "--dim", "3", "--index", "magic"}, cli.ExitUsage,
			"magic"},
		{[]string{"ann", "--vectors", "v.f16", "--queries", "v.f16", "--dim", "4"}, cli.ExitFailed, "v.f16"},
		{[]string{"ann", "--vectors", "nowhere.f16", "--queries", "v.f16", "--dim", "3"}, cli.ExitFailed, "nowhere.f16"},
		{[]string{"bm25", "--questions", "nowhere.jsonl"}, cli.ExitUsage, "--in"},
		{[]string{"bm25", "--in", "nowhere.jsonl", "--questions", "nowhere.jsonl"}, cli.ExitFailed, "nowhere.jsonl"},
	} {
		code, out, complaints := lab(t, append([]string{"bench"}, c.args...)...)
		if code != c.code || !strings.Contains(complaints, c.says) || out != "" {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s%s", c.args, code, c.code, c.says, complaints, out)
		}
	}
}
