package search

import (
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// LackingMethods returns a sentence for users that names the fusion methods which cannot rank, since none of the
// experts has a calibrated confidence, and what would help. It returns "" if there are none.
func LackingMethods(infos []learned.ExpertInfo) string {
	var offer fusion.Offer
	offer.Temperature = true
	var names, ensembles []string
	for _, x := range infos {
		if x.Kind != reply.KindDense {
			continue
		}
		names = append(names, x.Name)
		if x.EnsembleMembers >= 2 {
			ensembles = append(ensembles, x.Name)
		}
		offer.Experts = append(offer.Experts, fusion.Ability{Sure: x.EnsembleMembers >= 2 && x.Calibration != nil})
	}
	var lacking []string
	for _, m := range fusion.Methods() {
		if slices.Contains(m.Lacks(offer), fusion.LacksConfidences) {
			lacking = append(lacking, m.Name)
		}
	}
	switch {
	case len(lacking) == 0:
		return ""
	case len(ensembles) == 0:
		return fmt.Sprintf(
			"%s cannot rank: none of the experts (%s) has an ensemble, and calibrating gives them none; a specialist that has one can be added",
			wording.List(lacking), wording.List(names),
		)
	}
	return fmt.Sprintf(
		"%s cannot rank: the ensembles of %s are not calibrated", wording.List(lacking), wording.List(ensembles),
	)
}
