package presenting

import (
	"encoding/json"
	"math"
	"testing"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/storage"
)

// TestRanges: values are counted by the range that they are in, what is in none is outside, and ranges stand in order.
func TestRanges(t *testing.T) {
	value := func(v any, count int) storage.FacetValue {
		x, ok := conditions.ValueOf(v)
		if !ok {
			t.Fatalf("%v is no value", v)
		}
		return storage.FacetValue{Value: x, Count: count}
	}
	for _, c := range []struct {
		f       ask.FacetRequest
		values  []storage.FacetValue
		want    string
		outside int
	}{
		{
			ask.FacetRequest{Width: 50, Size: 9},
			[]storage.FacetValue{
				value(49.99, 3), value(0, 1), value(50, 2), value(-1, 4), value("101", 5), value("much", 6), value(true, 7),
			},
			`[{"value":-50,"to":0,"count":4},{"value":0,"to":50,"count":4},{"value":50,"to":100,"count":2},` +
				`{"value":100,"to":150,"count":5}]`,
			13,
		},
		{
			ask.FacetRequest{Width: .5, Size: 2},
			[]storage.FacetValue{value(2.6, 1), value(.4, 2), value(1, 3)},
			`[{"value":0,"to":0.5,"count":2},{"value":1,"to":1.5,"count":3}]`, 1,
		},
		{ask.FacetRequest{Width: 1, Size: 9}, []storage.FacetValue{value(math.MaxFloat64, 1)}, `[]`, 1},
		{
			ask.FacetRequest{Period: ask.PeriodMonth, Size: 9},
			[]storage.FacetValue{
				value("2024-12-31", 1), value("2024-12-01T00:00:00Z", 2), value("2025-01-01T00:30:00+01:00", 4),
				value("2023-02-28", 3), value("soon", 5), value(2024, 6),
			},
			`[{"value":"2023-02","to":"2023-03","count":3},{"value":"2024-12","to":"2025-01","count":7}]`, 11,
		},
		{
			ask.FacetRequest{Period: ask.PeriodYear, Size: 9}, []storage.FacetValue{value("1999-12-31", 1)},
			`[{"value":"1999","to":"2000","count":1}]`, 0,
		},
		{
			ask.FacetRequest{Period: ask.PeriodDay, Size: 9}, []storage.FacetValue{value("2024-02-28", 1)},
			`[{"value":"2024-02-28","to":"2024-02-29","count":1}]`, 0,
		},
	} {
		ranges, outside := rangesOf(&c.f, c.values)
		got, err := json.Marshal(ranges)
		if err != nil || string(got) != c.want || outside != c.outside {
			t.Errorf("%+v: %s and %d outside, %v, want %s and %d", c.f, got, outside, err, c.want, c.outside)
		}
	}
}
