package encoder

import "math"

// What an encoder cannot read is no evidence. All words without pieces are one token,
// [UNK], and of a script whose words the vocabulary lacks there are single letters at
// most, so that such texts are near to each other whatever they say. The vector of a
// text counts for what was read of it, and late interaction compares no unread tokens.

// vectorWeight returns what the vector of a text counts of whose characters such a share is read: all
// from half on. Names and symbols of elsewhere are part of ordinary texts.
func vectorWeight(share float64) float64 { return min(1, 2*share) }

// Readable returns what a question counts for the encoder, 0 to 1: 1 where it reads at least
// half of the characters of the question's words, 0 where it reads none. Dense vectors are of unit length all the same.
func (e *Encoder) Readable(text string) float64 {
	return e.tokenizer.tokensOf(text, e.bundle.Manifest.Vectors.MaxTokens.Question).read
}

// ReadablePassage returns how far the encoder can read a passage, from 0 to 1 as Readable does for a question, and
// whether it encodes only the passage's beginning since the rest is too long. It returns 1 and false for a passage that
// cannot be encoded at all: EncodePassages returns that error.
func (e *Encoder) ReadablePassage(t Text) (read float64, cut bool) {
	ids, cut, err := e.passageRow(t)
	if err != nil {
		return 1, false // encoding says it
	}
	return e.readableShare(t, ids), cut
}

// readableShare returns Readable of a passage that has these tokens.
func (e *Encoder) readableShare(t Text, ids []int32) float64 {
	for _, id := range ids {
		if e.tokenizer.Strange(id) {
			return vectorWeight(e.tokenizer.Words(t.Title + "\n" + t.Text).Readable())
		}
	}
	return 1
}

// hideUnread makes zeros of the vectors of a text's unread tokens. A letter of another script in
// a text that is read as a whole is as good as a word.
func (e *Encoder) hideUnread(vectors []float32, ids []int32, read float64) (hidden bool) {
	if len(ids) > 2 {
		ids = ids[1 : len(ids)-1] // as words does
	}
	d := e.Dimension()
	for i, id := range ids {
		if e.tokenizer.Unknown(id) || read < 1 && e.tokenizer.Strange(id) {
			clear(vectors[i*d : (i+1)*d])
			hidden = true
		}
	}
	return hidden
}

// hideQuestion hides tokens of a question, whose other tokens have the importance of all.
func (e *Encoder) hideQuestion(vectors []float32, ids []int32, read float64) {
	if !e.hideUnread(vectors, ids, read) {
		return
	}
	d := e.Dimension()
	left := 0.0
	for i := 0; i < len(vectors); i += d {
		squares := 0.0
		for _, x := range vectors[i : i+d] {
			squares += float64(x) * float64(x)
		}
		left += math.Sqrt(squares)
	}
	if left == 0 {
		return
	}
	for i, x := range vectors {
		vectors[i] = float32(read / left * float64(x))
	}
}
