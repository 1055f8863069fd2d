export const ENVIRONMENTS = ['production', 'sandbox'] as const

/** Production purchases are paid, sandbox ones are tests. */
export type Environment = (typeof ENVIRONMENTS)[number]
