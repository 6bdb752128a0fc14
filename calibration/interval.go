package calibration

import "math"

// shareInterval returns Wilson's score interval of a share of n questions: in 95 of
// 100 samples it holds the share of all (Wilson, "Probable inference, the law of
// succession, and statistical inference", JASA 22, 1927). With no questions it is 0
// to 1.
func shareInterval(share float64, n int) (low, high float64) {
	const z = 1.959964 // of the normal distribution, 0.975
	if n < 1 {
		return 0, 1
	}
	m := float64(n)
	centre := share + z*z/(2*m)
	margin := z * math.Sqrt(share*(1-share)/m+z*z/(4*m*m))
	return max(0, (centre-margin)/(1+z*z/m)), min(1, (centre+margin)/(1+z*z/m))
}
