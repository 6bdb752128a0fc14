package handlers

import (
	"fmt"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// describeFields writes the descriptions of the answers' fields, whose Go
// types belong to other packages. A field without a description, and a
// description without a field, is a mistake, so the two stay together.
func describeFields(schemas map[string]*huma.Schema) error {
	texts := fieldTexts()
	maps.Copy(texts, writingTexts())
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		for _, field := range slices.Sorted(maps.Keys(schemas[name].Properties)) {
			property := schemas[name].Properties[field]
			text, ok := texts[name][field]
			delete(texts[name], field)
			switch {
			case ok && property.Ref != "":
				// Beside $ref a description is allowed since OpenAPI 3.1.
				schemas[name].Properties[field] = &huma.Schema{Ref: property.Ref, Description: text}
			case ok:
				property.Description = text
			case property.Description == "":
				return fmt.Errorf("handlers: nothing is said of %s.%s", name, field)
			}
		}
		if len(texts[name]) == 0 {
			delete(texts, name)
		}
	}
	for name, rest := range texts {
		return fmt.Errorf("handlers: %s has no field %v", name, slices.Sorted(maps.Keys(rest)))
	}
	return nil
}

// fieldTexts says what the fields of answers mean, by schema and field.
func fieldTexts() map[string]map[string]string {
	return map[string]map[string]string{
		"SearchResponse": {
			"request_id":       "The request's id in the log.",
			"question":         "The question as it was read.",
			"fusion":           "The method that fused the rankings; for auto, what it stands for.",
			"generation":       "The generation of the collection that was searched.",
			"selected":         "How many passages the filter lets through; left out without a filter.",
			"took_ms":          "Time in the engine, in milliseconds.",
			"confidence":       "The chance that the first result answers, from 0 to 1; null where it is not known. It was fitted on searches without a filter, with the default candidates and specialists, half of them for what is not there.",
			"confidence_basis": "Whence the confidence comes: calibrated, from questions of this collection (conclave calibrate), or shipped, from those of other collections. Absent where there is none.",
			"notes":            "What to know about the question, such as that the encoders cannot read most of its words. Absent when there is nothing.",
			"confidence_any":   "The chance that any of the results answers, calibrated; absent where it is not known.",
			"abstained":        "True when the confidence was below what the request asked for: there are no results then.",
			"results":          "The passages, best first. With a list of methods, see rankings.",
			"rankings":         "One ranking for each method, when a list of methods was asked for.",
			"sources":          "How each source fared; left out where fields does not name it.",
			"degraded":         "Sources that were left out, and why. Empty when all is well.",
		},
		"Filter": {
			"tags_all": "Only passages that have every one of these tags. At most limits.filter_tags of at most limits.filter_tag_bytes; capitals count. An empty list asks for nothing; a tag that no passage has lets none through, which is no error.",
			"tags_any": "Only passages that have at least one of these tags. As tags_all otherwise; with both, a passage has to satisfy both.",
		},
		"Ranking": {
			"fusion":           "The method, as it was asked for.",
			"method":           "What auto stands for.",
			"confidence":       "How sure this ranking is; null where it is not known.",
			"confidence_basis": "Whence the confidence comes: calibrated or shipped.",
			"confidence_any":   "The chance that any of the results answers; absent where it is not known.",
			"abstained":        "True when the confidence was below what the request asked for.",
			"results":          "The passages, best first.",
		},
		"Result": {
			"rank":          "The place in the ranking, from 1.",
			"id":            "The passage's id.",
			"title":         "The passage's title.",
			"text":          "The passage's text.",
			"tags":          "The passage's tags.",
			"metadata":      "The passage's metadata.",
			"score":         "The fused score. Its unit is the method's.",
			"contributions": "What each source added; they add up to the score. Left out where fields does not name them.",
			"explanation":   "The terms of BM25's sum, and then those of phrases (two terms each), where the request asked to explain.",
		},
		"Contribution": {
			"source":       "The name of the source.",
			"score":        "The source's own score of this passage; null where it has none.",
			"rank":         "The place in the source's own list; null when it was not among its hits.",
			"origin":       "Where the score is from: hit, exact (fetched), min (the source's lowest), scored (late interaction, which finds nothing itself) or none.",
			"weight":       "The weight of the source.",
			"contribution": "What it added to the score.",
		},
		"TermScore": {
			"term":          "The term after analysis.",
			"frequency":     "How often the passage has it.",
			"doc_frequency": "How many passages have it.",
			"idf":           "Its inverse document frequency.",
			"boost":         "How often the question has it.",
			"score":         "What it added to the score of BM25, or of phrases.",
		},
		"Source": {
			"name":               "An expert's name; bm25; or phrases, which is BM25 over pairs of words that follow each other and takes part in the gate alone, as late interaction does.",
			"kind":               "dense, lexical or late.",
			"status":             "ok; skipped, where other experts are more familiar with the question, or where reason says why; failed, deadline or overloaded.",
			"reason":             "Why a method asked for leaves the expert out: one that weighs experts by how sure they are goes without those that cannot say.",
			"confidence":         "How sure the expert is of itself on this question, calibrated, from 0 to 1.",
			"chance":             "The calibrated chance that the first hit of this source by itself answers, read from its scores, how familiar the question is to it and to its rivals, and how far the words agree. Absent where nobody calibrated it, and where BM25 or the base was not asked.",
			"familiarity":        "How near the question is to those that the expert knows: the mean similarity to the ten nearest, as the base encodes them.",
			"weight":             "The source's weight in the fusion.",
			"hits":               "How many passages it returned.",
			"truncated":          "True when the question has more tokens than the source reads (max_tokens.question of the expert): only its beginning counted.",
			"mutual_information": "The ensemble's disagreement, in nats, behind the confidence.",
			"took_ms":            "What its stages took.",
		},
		"Took": {
			"encode":     "Milliseconds from text to vector, waiting included.",
			"search":     "Milliseconds in the index.",
			"confidence": "Milliseconds for the ensemble.",
		},
		"Degradation": {
			"source": "The name of the source.",
			"reason": "Why it was left out.",
		},
		"EmbedResponse": {
			"expert":     "The expert whose encoder was used.",
			"dimension":  "How many numbers a vector has.",
			"embeddings": "A vector for each text, in their order.",
			"truncated":  "The texts, by position from 0, that have more tokens than the expert reads (its max_tokens): the vectors are of their beginnings. Left out when there are none.",
		},
		"BatchResponse": {
			"answers": "An answer or a problem for each search, in their order.",
		},
		"Passage": {
			"id":       "The passage's id.",
			"title":    "Its title.",
			"text":     "Its text.",
			"tags":     "Its tags.",
			"metadata": "Its metadata: strings, numbers and booleans.",
		},
		"PassageList": {
			"passages": "The passages, in the order of their ids' bytes.",
			"next":     "The id to ask for the next page after; left out where this is the last.",
		},
		"ExpertList": {
			"experts": "The experts, in the order of the configuration.",
		},
		"Expert": {
			"name":             "Its name.",
			"kind":             "dense: one vector a text; late: one for each token, for late interaction, which scores what the others found.",
			"dimension":        "How many numbers a vector has.",
			"index":            "The kind of its vector index: hnsw, flat or coder; late for late interaction.",
			"passages":         "How many passages it has indexed.",
			"fingerprints":     "What its question and passage encoders are made of, as SHA-256.",
			"provider":         "Where its models run: cpu or cuda.",
			"precision":        "Of its weights: fp32 or int8.",
			"max_tokens":       "How many tokens of a question and of a passage it reads.",
			"ensemble_members": "How many members its ensemble has; 0: none, and no confidence.",
			"calibration":      "How its confidence was fitted; null when it was not.",
			"recall":           "How much of the exact search its index finds, as measured when it was built.",
			"warnings":         "What is wrong with it without keeping it from working.",
		},
		"Calibration": {
			"temperature": "The divisor of the confidence's logits.",
			"depth":       "How many hits the mutual information looks at.",
			"ece_before":  "Expected calibration error before fitting.",
			"ece_after":   "Expected calibration error after fitting.",
			"questions":   "The questions it was fitted on.",
		},
		"Limits": {
			"body_bytes":          "Bytes of a request's body.",
			"question_bytes":      "Bytes of a question in UTF-8.",
			"filter_tags":         "Tags of each list of a filter.",
			"filter_tag_bytes":    "Bytes of one of them.",
			"question_tokens":     "Tokens of a question that each expert reads; what is beyond is cut off.",
			"k":                   "Results of one search.",
			"candidates":          "Hits of one source.",
			"batch":               "Searches of one batch.",
			"embed_inputs":        "Texts of one embed request.",
			"embed_bytes":         "Bytes of one of them.",
			"timeout_ms":          "The longest timeout that a request may ask for, in milliseconds.",
			"concurrency":         "Places for requests that are worked on at once; beyond them is 429. A search takes one for each 100 results (k, for each method), a batch as many as its searches that run at once.",
			"upload_bytes":        "Bytes of one bulk upload.",
			"upload_rate":         "Bytes of a bulk upload that have to come in each second, on average, after the first ten seconds.",
			"uploads":             "Bulk uploads whose lines are stored at once. Sixteen times as many may be under way; beyond that is 429.",
			"line_bytes":          "Bytes of one passage as JSON.",
			"passage_bytes":       "Bytes of a passage's text.",
			"tags":                "Tags of one passage.",
			"metadata_bytes":      "Bytes of one passage's metadata, as JSON.",
			"answer_bytes":        "Bytes of one answer, of a batch's answers together. A passage counts with what is stored of it, before its text is read.",
			"upload_answer_bytes": "Bytes of an upload's answer that wait until its body has ended; beyond it the upload ends.",
			"read_only":           "True where passages cannot be written.",
			"rate_requests":       "Requests of one caller in rate_window_ms; 0: no bound.",
			"rate_window_ms":      "The window of rate_requests, in milliseconds.",
			"json_values":         "How many values a JSON body may have.",
			"json_depth":          "How deep JSON may be nested.",
			"defaults":            "What a request gets that does not say otherwise.",
		},
		"LimitDefaults": {
			"fusion":      "The method.",
			"auto":        "What the method auto stands for.",
			"k":           "Results.",
			"candidates":  "Hits of each source.",
			"specialists": "How many experts with a domain the method gate asks, the most familiar with the question; 0 is all.",
			"missing":     "The score of a passage that a source did not return.",
			"alpha":       "BM25's weight in the hybrid.",
			"timeout_ms":  "How long sources may take, in milliseconds.",
		},
		"Health": {
			"status":     "ok or ready.",
			"generation": "The generation of the collection.",
			"passages":   "How many passages it has.",
			"components": "The parts of the server.",
			"backlog":    "What was written and is not yet seen by searches; only there where passages can be written.",
			"warnings":   "What is wrong without keeping the server from working.",
		},
		"Component": {
			"name":     "Its name.",
			"status":   "starting, ready or failed.",
			"detail":   "More about its status.",
			"warnings": "What is wrong without keeping it from working.",
		},
		"Problem": {
			"type":       "The address of the problem's description.",
			"title":      "The kind of problem in words.",
			"status":     "The HTTP status.",
			"detail":     "What was wrong, and what is allowed.",
			"code":       "The kind of problem, for programs; it is stable.",
			"request_id": "The request's id in the log.",
			"errors":     "The parts of the request that are wrong.",
			"components": "The parts of the server, where it is not ready.",
		},
		"ProblemField": {
			"pointer":   "A JSON pointer (RFC 6901) into the request.",
			"parameter": "The query parameter, in a GET.",
			"detail":    "What is wrong there.",
		},
	}
}
