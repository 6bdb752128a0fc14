package fusion

import "math"

// Fitting spends nearly all its time on exponentials of scores. These need neither the
// whole range of math.Exp nor its last bits.
const (
	// stepsOfTwo is how many powers of two the table has between 1 and 2.
	stepsOfTwo = 128
	// roundToInteger makes the lowest bits of a float64 an integer, when added.
	roundToInteger = 3 << 51
)

var powersOfTwo = func() (table [stepsOfTwo]float64) {
	for i := range table {
		table[i] = math.Exp2(float64(i) / stepsOfTwo)
	}
	return table
}()

// Exponentials sets each element of into to exp(x - shift) of that of x: 0 below exp(-40), and exp(40) above it. The
// relative error is below 1e-13. The slices may be the same; into must be as long as x.
func Exponentials(into, x []float64, shift float64) {
	into = into[:len(x)]
	for i, v := range x {
		v -= shift
		if v < negligibleExponent {
			into[i] = 0
			continue
		}
		v = min(v, -negligibleExponent)
		// exp(v) is 2^(n/128) · exp(rest), with |rest| below 0.0028.
		shifted := v*(stepsOfTwo/math.Ln2) + roundToInteger
		n := int64(math.Float64bits(shifted) - math.Float64bits(roundToInteger))
		rest := v - (shifted-roundToInteger)*(math.Ln2/stepsOfTwo)
		power := powersOfTwo[n&(stepsOfTwo-1)]
		power += power * (rest + rest*rest*(1./2+rest*(1./6+rest*(1./24))))
		into[i] = math.Float64frombits(math.Float64bits(power) + uint64(n>>7)<<52)
	}
}
