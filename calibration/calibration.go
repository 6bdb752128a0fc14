// Package calibration makes confidences mean what they say, and says how well
// they do: reliability, the temperature of an expert's ensemble, the weight of
// BM25 in the hybrid, and the chance that a fused answer is right. It reads no
// files and keeps no state; what it draws at random is seeded.
//
// Vocabulary. An Outcome is a confidence and whether what it was about came
// true. A fit is a number, or a few, chosen on development questions. Every
// fit here comes with its value on held-out questions: the questions are cut
// into five folds by a hash of their ids (Fold), and each question is measured
// with what was fitted on the other four folds. What is shipped is fitted on
// all of them; what is reported is held out.
//
// # From questions to a calibration
//
// First refuse what would make the figures worthless:
//
//	err := calibration.Disjoint(fittedOn, measuredOn)
//
// Each expert, from its members' inner products with its own first hits, at
// the depth that will be served (models.Calibration.Depth):
//
//	fit, err := calibration.FitTemperature(ctx, questions, calibration.TemperatureOptions{})
//	err = bundle.WriteCalibration(models.Calibration{Temperature: fit.Temperature, Depth: depth,
//		ECEBefore: fit.Before.ECE, ECEAfter: fit.After.ECE, Questions: file, QuestionCount: fit.After.Questions})
//	reliability, err := calibration.NewReliability(fit.Outcomes)
//	err = reliability.WriteSVG(w, "wiki, dev questions")
//
// The hybrid, from the candidates of each question:
//
//	alpha, err := calibration.FitAlpha(ctx, tables, calibration.AlphaOptions{
//		Quality: calibration.TopK, Depth: 1, Balance: calibration.OverDomains})
//
// The fused answer, from whatever is known of it when it is given (names and
// values of signals; one is enough) and where its first right passage was:
//
//	first, err := calibration.FitConfidence(ctx, names, ranked, 1)
//	any20, err := calibration.FitConfidence(ctx, names, ranked, 20)
//	chances := calibration.Chances{first.Confidence, any20.Confidence} // serialise; later chances.Of(signals, k)
//
// Whether that is well calibrated for so many questions, and worth anything:
//
//	s := first.HeldOut                     // ECE, Brier, AUROC
//	bound, err := calibration.PerfectECE(confidences, len(ranked), 0.95, 1000, seed)
//	half := calibration.AccuracyAt(first.Outcomes, 0.5) // accuracy on the surest half
package calibration
