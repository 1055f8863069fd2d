import { yieldToEventLoop } from '../../lib/concurrency/yield-to-event-loop.ts'

/** A slice of a list, as cells. `next` is the `after` of the following slice; null on the last one. */
type Slice = { rows: unknown[][]; next: string | null }

/** Filters that may contain a user's e-mail address, name or id. */
const SEARCH_TEXTS = new Set(['q', 'id', 'user', 'target'])
/** Without it, Excel reads UTF-8 as the local code page. */
const BYTE_ORDER_MARK = '\u{feff}'
/**
 * Where a spreadsheet may see a formula: at the start of a cell, even after quotes and spaces, or of a part that it
 * splits off. https://owasp.org/www-community/attacks/CSV_Injection
 */
const FORMULA =
  /^(?=[\t\r\n])|(?<=^|[,;|\t-\r\u0085\u2028\u2029])(?=(?:["\p{Cf}]|[^\S\t-\r\u2028\u2029])*[=+\-@＝＋－＠﹦﹢﹣﹫−])/gu
/** Quoted, because spreadsheets of some languages separate cells with `;` or tabs. */
const NEEDS_QUOTES = /[",;\t\r\n]/

/**
 * Streams a list slice by slice (RFC 4180, UTF-8), beginning with `slice`. The next slice is read when the client
 * has received the previous one, so memory use stays low and other requests are answered in between.
 */
export function streamCsv(
  headings: string[],
  slice: Slice,
  readSlice: (after: string) => Promise<Slice>,
  onError: (error: unknown) => void,
) {
  const encoder = new TextEncoder()
  let current = slice
  let head = `${BYTE_ORDER_MARK}${csvLine(headings)}`
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          controller.enqueue(encoder.encode(head + current.rows.map(csvLine).join('')))
          head = ''
          do {
            if (current.next === null) return controller.close()
            await yieldToEventLoop()
            current = await readSlice(current.next)
          } while (current.rows.length === 0)
        } catch (error) {
          // Breaks the connection: a file that merely ended early would look complete.
          onError(error)
          controller.error(error)
        }
      },
    },
    { highWaterMark: 0 },
  )
}

/** A filter for the audit log, which must not keep the data of a deleted user. */
export function withoutSearchTexts(filter: object): Record<string, unknown> {
  const entries = Object.entries(filter)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, SEARCH_TEXTS.has(name) ? '[search text]' : value]),
  )
}

/** A line of a CSV file with its line break. Texts that a spreadsheet would run as a formula get a `'` in front. */
function csvLine(values: unknown[]): string {
  return `${values.map(formatCell).join(',')}\r\n`
}

function formatCell(value: unknown): string {
  const text = formatText(value)
  const safe = typeof value === 'number' ? text : text.replaceAll(FORMULA, "'")
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

function formatText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
