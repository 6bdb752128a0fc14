// Package calibration makes confidences mean what they say, and says how well
// they do. Gather asks a collection questions whose passages are known; Fit makes of
// what was found a Record, by which the collection is served, and a FitReport of what
// that is worth: the temperatures of the experts' ensembles, the weight of BM25 in the
// hybrid, the gate, and the chances that a source's first hit, and a fused answer, are
// right. It keeps no state, and nothing in it depends on chance.
//
// An Outcome is a confidence and whether what it was about came true. What is shipped
// is fitted on all questions; what is reported is held out: the questions are cut into
// five folds by a hash of their ids (foldOf), and each question is measured with what was
// fitted on the other four folds.
package calibration
