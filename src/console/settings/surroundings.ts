import { createContext } from 'preact'

/** What the rules editor knows about the server. */
export type Surroundings = {
  /** The header in which a proxy sends the country; null for none, undefined until it is known. */
  countryHeader: string | null | undefined
  plans: { code: string; name: string }[]
}

export const UNKNOWN: Surroundings = { countryHeader: undefined, plans: [] }
export const SurroundingsContext = createContext(UNKNOWN)

export const NO_COUNTRY =
  "This server cannot determine users' countries: COUNTRY_HEADER is not set."
