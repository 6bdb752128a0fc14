// Package question turns what somebody asked into the question that the sources are asked: it finds the question in a
// longer text (Focuser), shortens texts (Shorten), corrects misspelt words (Speller), adds synonyms (AddSynonyms), and
// lets a model rewrite the last message of a conversation as a question that stands alone (Rewrite).
package question
