package encoder

import "math"

// What an encoder cannot read is no evidence. All words without pieces are one token,
// [UNK], and of a script whose words the vocabulary lacks there are single letters at
// most, so that such texts are near to each other whatever they say. The vector of a
// text counts for what was read of it, and late interaction compares no unread tokens.

// vectorWeight returns the weight, 0 to 1, of the vector of a text of whose characters this share is read: 1 from half
// on, since names and symbols of other scripts are part of ordinary texts.
func vectorWeight(share float64) float64 { return min(1, 2*share) }

// Readable returns the weight of a question's vector, 0 to 1: 1 if the encoder reads at least half of the
// characters of its words, 0 if it reads none, and in proportion between. Dense vectors are of unit length all the
// same.
func (e *Encoder) Readable(text string) float64 {
	return e.tokenizer.tokensOf(text, e.bundle.Manifest.Vectors.MaxTokens.Question).read
}

// ReadablePassage returns how far the encoder can read a passage: 1 if it reads at least half of the characters of its
// words, 0 if none, in proportion between. cut is true if the rest of the passage is too long, so that only its
// beginning is encoded. It returns 1 and false for a passage that cannot be encoded at all: EncodePassages returns that
// error.
func (e *Encoder) ReadablePassage(t Text) (read float64, cut bool) {
	ids, cut, err := e.passageRow(t)
	if err != nil {
		return 1, false // encoding says it
	}
	return e.readableShare(t, ids), cut
}

// readableShare returns the weight of the vector of a text with these tokens: 1 if the encoder reads at least half of
// the characters of its words, 0 if none, in proportion between. It is 1 if none of the tokens is unknown or a lone
// letter of another script.
func (e *Encoder) readableShare(t Text, ids []int32) float64 {
	for _, id := range ids {
		if e.tokenizer.Strange(id) {
			return vectorWeight(e.tokenizer.Words(t.Title + "\n" + t.Text).Readable())
		}
	}
	return 1
}

// hideUnread sets the vectors of tokens that were not read to 0, in place, and reports whether there are any.
// vectors has those of ids, without the first and last id if there are others. read is the Readable of the text: if
// it is 1, a lone letter of another script counts as a word.
func (e *Encoder) hideUnread(vectors []float32, ids []int32, read float64) (hidden bool) {
	if len(ids) > 2 {
		ids = ids[1 : len(ids)-1] // as wordRows does
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

// hideQuestion sets the vectors of a question's unread tokens to 0, in place, and lengthens the others so that
// their lengths add up to read, the Readable of the question. It changes nothing if all tokens are read. vectors
// has those of ids, as in hideUnread.
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
