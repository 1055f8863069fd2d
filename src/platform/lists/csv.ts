import type { Server } from 'bun'
import type { Context } from 'elysia'
import { yieldToEventLoop } from '../../lib/concurrency/yield-to-event-loop.ts'
import type { Log } from '../../lib/log/log.ts'
import { disableIdleTimeout } from '../http/body/connection-time.ts'
import type { RecordAction } from '../http/console-guard.ts'
import { rawReply } from '../http/replies/raw-reply.ts'
import { requestInfo } from '../http/request/request-log.ts'

type CsvDeps = { record: RecordAction; now: () => Date; log: Log }
type CsvContext = { request: Request; server: unknown; set: Context['set']; query: object }

/** A slice of a list. `next` is the `after` of the following slice; null on the last one. */
type Slice<Row> = { rows: Row[]; next: string | null }

export type CsvList<Row> = {
  /** The name of the list, for the file and the audit log. */
  name: string
  /** The list holds personal data, so its export is written to the audit log. */
  isPersonal?: boolean
  /** The user whose list it is, for the audit log. */
  target?: string
  /** The value of each column, by heading: text, a number, a boolean, a Date, null or JSON. */
  columns: Record<string, (row: Row) => unknown>
  /** Reads a slice; a complete list is returned as an array. */
  read: (after: string | undefined) => Promise<Slice<Row> | Row[]>
}

export type ExportCsv = ReturnType<typeof createCsvExport>

const ROWS_PER_SLICE = 200
/** Filters that may hold an e-mail address, a name or an id of a user. */
const SEARCH_TEXTS = new Set(['q', 'id', 'user', 'target'])
/** Without it, Excel reads UTF-8 as the local code page. */
const BYTE_ORDER_MARK = '\u{feff}'
/**
 * Where a spreadsheet may see a formula: at the start, and where it might split the text into cells or rows, also behind
 * quotes, which it removes, and spaces. https://owasp.org/www-community/attacks/CSV_Injection
 */
const FORMULA =
  /^(?=[\t\r\n])|(?<=^|[,;|\t-\r\u0085\u2028\u2029])(?=(?:["\p{Cf}]|[^\S\t-\r\u2028\u2029])*[=+\-@＝＋－＠﹦﹢﹣﹫−])/gu
/** Quoted, because spreadsheets of some languages separate cells with `;` or tabs. */
const NEEDS_QUOTES = /[",;\t\r\n]/

/** Creates the function with which console routes send a list as a CSV file. */
export function createCsvExport({ record, now, log }: CsvDeps) {
  /**
   * Streams a list slice by slice (RFC 4180, UTF-8). The next slice is read when the client has received the one
   * before, so memory stays small and other requests are answered in between.
   */
  return async <Row>(
    { request, server, set, query }: CsvContext,
    { name, isPersonal = false, target, columns, read }: CsvList<Row>,
  ): Promise<Response> => {
    // The first slice is read here, so that a refused filter is still an error reply.
    let slice = await readSlice(undefined)
    if (isPersonal) {
      const action = `${name}.export-csv`
      const after = withoutSearchTexts(query)
      await record(request, { action, ...(target && { target }), after })
    }
    disableIdleTimeout(request, server as Server<unknown> | null)
    const encoder = new TextEncoder()
    let head = `${BYTE_ORDER_MARK}${csvLine(Object.keys(columns))}`
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            const cells = Object.values(columns)
            const lines = slice.rows.map((row) => csvLine(cells.map((cell) => cell(row))))
            controller.enqueue(encoder.encode(head + lines.join('')))
            head = ''
            do {
              if (slice.next === null) return controller.close()
              await yieldToEventLoop()
              slice = await readSlice(slice.next)
            } while (slice.rows.length === 0)
          } catch (err) {
            // Breaks the connection off: a file that merely ended early would look complete.
            log.error({ requestId: requestInfo(request).id, err }, 'export failed')
            controller.error(err)
          }
        },
      },
      { highWaterMark: 0 },
    )
    const date = now().toISOString().slice(0, 10)
    return rawReply(set, body, {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}-${date}.csv"`,
    })

    async function readSlice(after: string | undefined): Promise<Slice<Row>> {
      const found = await read(after)
      return Array.isArray(found) ? { rows: found, next: null } : found
    }
  }
}

type PageOf<Key extends string> = Record<Key, unknown[]> & { next: string | null }

/** The slices of a list whose pages hold their rows in `key`. */
export function readSlices<Key extends string, Page extends PageOf<Key>>(
  key: Key,
  list: (page: { after: string | undefined; limit: number }) => Promise<Page>,
) {
  return async (after: string | undefined): Promise<Slice<Page[Key][number]>> => {
    const page = await list({ after, limit: ROWS_PER_SLICE })
    return { rows: page[key], next: page.next }
  }
}

/** A filter for the audit log, which must not keep the data of a deleted user. */
export function withoutSearchTexts(filter: object): Record<string, unknown> {
  const entries = Object.entries(filter)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, SEARCH_TEXTS.has(name) ? '[search text]' : value]),
  )
}

/** A line of a CSV file with its end. Texts that a spreadsheet would run as a formula get a `'` in front. */
function csvLine(values: unknown[]): string {
  return `${values.map(cellOf).join(',')}\r\n`
}

function cellOf(value: unknown): string {
  const text = textOf(value)
  const safe = typeof value === 'number' ? text : text.replaceAll(FORMULA, "'")
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
