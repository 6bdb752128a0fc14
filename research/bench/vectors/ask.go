package vectors

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/fields"
)

// FilteredSearch is a filtered search that another program asks for, in a line of JSON: query Query among the vectors
// whose number in column Column is at least Low and below High, or among all.
type FilteredSearch struct {
	Query  int  `json:"query"`
	Column int  `json:"column"`
	Low    int  `json:"low"`
	High   int  `json:"high"`
	K      int  `json:"k"`
	All    bool `json:"all,omitempty"` // without a condition
}

// Found is the answer to a FilteredSearch: the rows, and the seconds of marking the vectors that meet the condition,
// and of all.
type Found struct {
	Rows    []rank.Ordinal `json:"rows"`
	Mark    float64        `json:"mark_s"`
	Seconds float64        `json:"seconds"` // of both
}

// AnswerFiltered answers searches until in ends. Each line of in is a FilteredSearch in JSON. The first line of out has
// the number of vectors as {"rows": N}; then comes a Found for each search, in order, made with the first of o.Ef.
// columns names a file of little-endian int32: for each column one number of each vector, indexed as the metadata of
// passages are. A malformed line, or a Query out of range, ends it with an error.
func AnswerFiltered(ctx context.Context, o Trial, columns string, in io.Reader, out io.Writer) (err error) {
	x, queries, end, err := o.begin(ctx, &Figures{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	values, err := readColumns(columns, x.Len())
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	answers := json.NewEncoder(out)
	if err := answers.Encode(map[string]int{"rows": x.Len()}); err != nil {
		return err
	}
	for lines.Scan() && ctx.Err() == nil {
		var ask FilteredSearch
		if err := json.Unmarshal(lines.Bytes(), &ask); err != nil {
			return fmt.Errorf("a line that asks for a search: %w", err)
		}
		if ask.Query < 0 || ask.Query >= len(queries) {
			return fmt.Errorf("there is no query %d", ask.Query)
		}
		start := time.Now()
		var filter *ann.Filter
		if !ask.All {
			filter, err = markPassing(values, ask, x.Len())
			if err != nil {
				return err
			}
		}
		took := Found{Mark: time.Since(start).Seconds()}
		hits, _, err := x.Search(ctx, queries[ask.Query], ann.SearchOptions{K: ask.K, Ef: o.Ef[0], Filter: filter})
		if err != nil {
			return err
		}
		took.Seconds = time.Since(start).Seconds()
		for _, h := range hits {
			took.Rows = append(took.Rows, h.Ordinal)
		}
		if err := answers.Encode(took); err != nil {
			return err
		}
	}
	return errors.Join(lines.Err(), ctx.Err())
}

// markPassing returns a filter with those of the rows vectors that meet a search's condition: their number in its
// Column is at least Low and below High. It fails if the index is damaged.
func markPassing(values *fields.Index, ask FilteredSearch, rows int) (*ann.Filter, error) {
	marked := make([]uint64, (rows+63)/64)
	within := conditions.Interval{
		Kind: conditions.Numbers,
		Low:  conditions.NumberKey(float64(ask.Low)), High: conditions.NumberKey(float64(ask.High)) - 1,
	}
	if err := values.Mark(strconv.Itoa(ask.Column), within, marked); err != nil {
		return nil, err
	}
	return ann.FilterOf(marked), nil
}

// readColumns returns an index of the numbers in a file, as fields named by the columns' numbers from 0. It fails if
// the file does not hold a whole number of columns of rows numbers.
func readColumns(path string, rows int) (*fields.Index, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if rows == 0 || len(data)%(4*rows) != 0 {
		return nil, fmt.Errorf("%s has %d bytes, which are no columns of %d numbers", path, len(data), rows)
	}
	builder := fields.NewBuilder()
	for row := range rows {
		metadata := map[string]any{}
		for column := range len(data) / 4 / rows {
			at := 4 * (column*rows + row)
			metadata[strconv.Itoa(column)] = float64(int32(binary.LittleEndian.Uint32(data[at:])))
		}
		if err := builder.Add(metadata); err != nil {
			return nil, err
		}
	}
	return builder.Index()
}
