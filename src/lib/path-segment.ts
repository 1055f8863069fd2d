/** `.`, `..`, and what is decoded to one of them: browsers take such a segment of a path for a folder. */
const DOTS = /^(?:\.|%(?:25)*2e){1,2}$/i

/** An id as one segment of a path. What browsers would resolve is encoded twice. */
export function encodeSegment(id: string): string {
  return encodeURIComponent(DOTS.test(id) ? encodeURIComponent(id).replaceAll('.', '%2E') : id)
}

/** The id of a segment. Throws for one that cannot be read. */
export function decodeSegment(segment: string): string {
  return restoreDots(decodeURIComponent(segment))
}

/** The id of a segment that was decoded once, as a router does it. */
export function restoreDots(decoded: string): string {
  return DOTS.test(decoded) ? decodeURIComponent(decoded) : decoded
}
