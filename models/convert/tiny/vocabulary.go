package tiny

import "strings"

// Vocabulary returns the default word pieces: the special tokens, each printable ASCII character except upper-case
// letters, alone and as a continuation, and some common words. All ASCII texts consist of pieces; other characters
// become [UNK].
func Vocabulary() []string {
	pieces := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
	for r := '!'; r <= '~'; r++ {
		if r < 'A' || r > 'Z' {
			pieces = append(pieces, string(r), "##"+string(r))
		}
	}
	pieces = append(pieces, strings.Fields(words)...)
	for _, ending := range strings.Fields("ing ed er est ly ness tion ment able ful less es") {
		pieces = append(pieces, "##"+ending)
	}
	return pieces
}

const words = `the of and to in is was for on that with as are by it at from his
an be or which this were not their has have its but they who what when where why
how many much does did do can could would should will may about after before into
over under between during first last new old long short high low good bad big small
great little people person man woman child children king queen day night year time
world country city town river sea mountain water fire earth air sun moon star house
home school church war peace law health disease doctor medicine drug cell heart blood
brain food bread fruit apple tree flower garden forest animal dog cat horse bird fish
wolf fox bear story tale book letter song game team player film music art history
science number name word language question answer capital france paris london england
germany america product price review battery phone camera screen policy data privacy
user information service company money work car road train ship red green blue black
white gold silver made found called known used said went came saw gave took two three
four five six seven eight nine ten one`
