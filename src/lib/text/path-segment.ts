/** `.`, `..` and their encoded forms, which browsers resolve as directories. */
const DOTS = /^(?:\.|%(?:25)*2e){1,2}$/i

/** An id as one path segment. Dot segments are encoded twice, because browsers would resolve them. */
export function encodeSegment(id: string): string {
  return encodeURIComponent(DOTS.test(id) ? encodeURIComponent(id).replaceAll('.', '%2E') : id)
}

/** The id of a segment. Throws when it cannot be decoded. */
export function decodeSegment(segment: string): string {
  return restoreDots(decodeURIComponent(segment))
}

/** The id of a segment that a router has already decoded once. */
export function restoreDots(decoded: string): string {
  return DOTS.test(decoded) ? decodeURIComponent(decoded) : decoded
}
