/** From the fewest rights: a `reader` views, an `operator` makes changes, an `owner` also manages operators. */
export const ROLES = ['reader', 'operator', 'owner'] as const
export type Role = (typeof ROLES)[number]
