// Package question turns what somebody asked into the question that the sources are asked: it finds the question in a
// longer text (Focuser), corrects misspelt words (Speller), adds synonyms, reads a question as it was typed into a box,
// and lets a model make a question that stands alone of a conversation.
package question
