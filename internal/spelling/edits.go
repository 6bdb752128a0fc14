package spelling

// MostEdits returns the most edits by which a typed word may differ from the word that was meant: 0 below four letters,
// 1 from four, 2 from eight. A missing, added or replaced letter is one edit, and so are two neighbouring letters in
// the wrong order.
func MostEdits(letters int) int {
	switch {
	case letters >= 8:
		return 2
	case letters >= 4:
		return 1
	}
	return 0
}

// Edits is the number of edits between a word and how it was typed, by kind.
type Edits struct{ Missing, Added, Replaced, Swapped uint8 }

// Total returns the number of edits.
func (e Edits) Total() int { return int(e.Missing) + int(e.Added) + int(e.Replaced) + int(e.Swapped) }

// longest is the largest number of letters of a typed word: those of a word in a Lexicon and the most edits.
const longest = LongestWord + 2

// Between returns the fewest edits, by kind, from the word that was meant to the word that was typed; each letter
// takes part in at most one (the optimal string alignment distance). Both are in lower case. It returns false if
// there are more than `most`, or a word is too long for a Lexicon.
func Between(meant, typed []rune, most int) (Edits, bool) {
	m, n := len(meant), len(typed)
	if m > longest || n > longest || m-n > most || n-m > most {
		return Edits{}, false
	}
	const far = 255
	var rows [3][longest + 1]uint8
	var kinds [3][longest + 1]Edits
	for j := 0; j <= min(n, most); j++ {
		rows[0][j] = uint8(j)
		kinds[0][j] = Edits{Added: uint8(j)}
	}
	for j := min(n, most) + 1; j <= n; j++ {
		rows[0][j] = far
	}
	for i := 1; i <= m; i++ {
		row, before, earlier := i%3, (i+2)%3, (i+1)%3
		least := uint8(far)
		from := max(0, i-most)
		to := min(n, i+most)
		if from > 0 {
			rows[row][from-1] = far
		}
		if to < n {
			rows[row][to+1] = far
		}
		for j := from; j <= to; j++ {
			best := uint8(far)
			kind := Edits{}
			take := func(cost uint8, k Edits) {
				if cost < best {
					best, kind = cost, k
				}
			}
			if j > 0 && meant[i-1] == typed[j-1] {
				take(rows[before][j-1], kinds[before][j-1])
			}
			if i > 1 && j > 1 && meant[i-1] == typed[j-2] && meant[i-2] == typed[j-1] && rows[earlier][j-2] < far {
				k := kinds[earlier][j-2]
				k.Swapped++
				take(rows[earlier][j-2]+1, k)
			}
			if rows[before][j] < far {
				k := kinds[before][j]
				k.Missing++
				take(rows[before][j]+1, k)
			}
			if j > 0 && rows[row][j-1] < far {
				k := kinds[row][j-1]
				k.Added++
				take(rows[row][j-1]+1, k)
			}
			if j > 0 && rows[before][j-1] < far {
				k := kinds[before][j-1]
				k.Replaced++
				take(rows[before][j-1]+1, k)
			}
			rows[row][j], kinds[row][j] = best, kind
			least = min(least, best)
		}
		// A swap reaches back two rows, so that one row of too much is not the end.
		if int(least) > most+1 {
			return Edits{}, false
		}
	}
	if int(rows[m%3][n]) > most {
		return Edits{}, false
	}
	return kinds[m%3][n], true
}
