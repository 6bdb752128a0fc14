// Package calibration fits confidences and weights to questions whose passages are known.
// Gather asks a collection these questions. Fit makes a Record, with which the collection
// is served, and a FitReport with its quality: the temperatures of the experts' ensembles,
// the weight of BM25 in the hybrid, the gate, and the chances that a source's first hit, and
// a fused answer, are right. The package keeps no state and is deterministic.
//
// An Outcome is a confidence and whether the answer was right. A Record is fitted on all
// questions. A report is of held-out questions: they are divided into five folds by a hash
// of their ids (foldOf), and each question is measured with the fit to the other four folds.
package calibration
