import { yieldToEventLoop } from '../../lib/concurrency/yield-to-event-loop.ts'
import { type AppError, invalidField } from '../../lib/errors.ts'

/** One way to find the rows of a list: in the order of an index, some of whose rows match the whole filter. */
export type Source<Row> = {
  /** The prefix of its cursors; null if all sources of the list are sorted alike, so that a position is enough. */
  name: string | null
  /** Whether all of its rows match. */
  isComplete: boolean
  /** How many rows it has, counted up to `max`. */
  countUpTo(max: number): Promise<number>
  /** Reads at most `limit` rows after a position. Throws `validation_failed` for a position that it cannot have. */
  read(position: string | null, limit: number): Promise<Batch<Row>>
}

/** `last` is the last row that was read, whether or not it matches. */
type Batch<Row> = { matches: Place<Row>[]; last: Place<Row> | undefined; isAtEnd: boolean }

export type Place<Row> = { row: Row; position: string }

type Page<Row> = {
  rows: Row[]
  /** The `after` of the next page; null on the last one. */
  next: string | null
  /** The last row that was compared with the filter, if the page is short because the search ended there. */
  scannedTo: Row | null
  /** How many rows match, counted up to 1,001; null if they are not counted. */
  total: number | null
}

type PageQuery<Row> = {
  sources: Source<Row>[]
  /** The last page's `next`. */
  after?: string | undefined
  limit: number
  /** Rows to compare with the filter for one page; a source whose rows all match is not limited. */
  maxScanned?: number
  /**
   * How to count the matches for the first page: by the index of the filter, or by comparing rows even if the page is
   * full. By default, they are not counted.
   */
  count?: 'index' | 'scan' | undefined
  /** Ends the search early, when the caller has given up. */
  signal?: AbortSignal | undefined
}

/** Rows read in one turn of the event loop. */
const ROWS_PER_TURN = 500
/** Enough to say "more than 1,000". */
const MAX_COUNTED = 1_001
/** Sources with more rows than this count as equally long. */
const MAX_ESTIMATED = 4_000

/**
 * Reads a page from the source with the fewest rows. A cursor is `position` or `name~position`; throws
 * `validation_failed` for others.
 */
export async function findPage<Row>(query: PageQuery<Row>): Promise<Page<Row>> {
  const { after, limit, maxScanned = Number.POSITIVE_INFINITY } = query
  const { source, position } = await chooseSource(query.sources, after)
  const count = after === undefined ? query.count : undefined
  const keepsScanning = count === 'scan' && !source.isComplete
  const found: Place<Row>[] = []
  let last: Place<Row> | undefined
  let isAtEnd = false
  let scanned = 0
  // Most filters fill a page soon, so the first batch of a scan is small.
  for (let batch = keepsScanning ? ROWS_PER_TURN : 2 * limit; scanned < maxScanned; batch *= 4) {
    const wanted = source.isComplete ? limit + 1 - found.length : batch
    const size = Math.min(wanted, maxScanned - scanned, ROWS_PER_TURN)
    const read = await source.read(last?.position ?? position, size)
    found.push(...read.matches)
    last = read.last ?? last
    isAtEnd = read.isAtEnd
    scanned += source.isComplete ? 0 : size
    if (isAtEnd || (found.length > limit && !keepsScanning) || query.signal?.aborted) break
    await yieldToEventLoop()
  }
  const isShort = found.length <= limit
  const end = isShort ? (isAtEnd ? undefined : last) : found[limit - 1]
  return {
    rows: found.slice(0, limit).map(({ row }) => row),
    next: end === undefined ? null : toCursor(source, end.position),
    scannedTo: isShort ? (end?.row ?? null) : null,
    total: count ? await countMatches() : null,
  }

  async function countMatches() {
    if (isAtEnd && (source.isComplete || keepsScanning)) return Math.min(found.length, MAX_COUNTED)
    if (source.isComplete) return source.countUpTo(MAX_COUNTED)
    return keepsScanning && found.length >= MAX_COUNTED ? MAX_COUNTED : null
  }
}

async function chooseSource<Row>(sources: Source<Row>[], after: string | undefined) {
  // Earlier versions wrote a space for `~`.
  const [, name, rest] = /^([a-z]+)[~ ](.+)$/.exec(after ?? '') ?? []
  const current = sources.find((source) => source.name !== null && source.name === name)
  if (current && rest !== undefined) return { source: current, position: rest }
  const possible = sources.filter((source) => after === undefined || source.name === null)
  const [only] = possible
  if (only === undefined) throw pageUnknown()
  if (possible.length === 1) return { source: only, position: after ?? null }
  const counts = await Promise.all(possible.map((source) => source.countUpTo(MAX_ESTIMATED)))
  const source = possible[counts.indexOf(Math.min(...counts))] ?? only
  return { source, position: after ?? null }
}

function toCursor({ name }: Source<unknown>, position: string): string {
  return name === null ? position : `${name}~${position}`
}

export function pageUnknown(): AppError {
  const message = 'must be `next` from the previous page'
  return invalidField('after', message, 'This page does not exist.')
}
