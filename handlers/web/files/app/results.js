// Results: which of them an answer, a citation or an address means. Where several collections are searched as one,
// passages of two may have the same id.

// isFor says whether an answer or a citation is of a result.
export const isFor = (result, { passage, collection }) => result.id === passage && (!collection || result.collection === collection);

// resultOf returns the result that an answer or a citation is of.
export const resultOf = ({ results }, one) => results.find((result) => isFor(result, one));

// keyOf names a result among all: names of collections have no spaces.
export const keyOf = ({ id, collection }) => (collection ? `${collection} ${id}` : id);
