package answering

// usualChance is the chance that a marked answer must have if the request sets no minimum.
const usualChance = 0.2
