package answering

const usualChance = 0.1
