/**
 * The roles of operators, from the one with the fewest rights: a `reader` can only view, an `operator` can make changes,
 * an `owner` also manages operators.
 */
export const ROLES = ['reader', 'operator', 'owner'] as const
export type Role = (typeof ROLES)[number]
