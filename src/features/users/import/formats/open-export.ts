import { open } from 'node:fs/promises'
import { CommandError, describeUnreadable, UsageError } from '../../../../lib/command.ts'
import { isObject, parseJson } from '../../../../lib/text/json.ts'
import { DATABASE_MAGIC, readRows } from '../../../../platform/db/read-rows.ts'
import type { Row } from '../user-record.ts'
import { pocketbaseQueries } from './pocketbase.ts'
import { csvFields, type FoundRecord, lines, objectsAt, splitRecords } from './records.ts'

/** A row of a file, or why it cannot be read. `line`: in SQLite, the row number. `bytes`: how far the file was read. */
type FoundRow = { line: number; bytes: number } & ({ row: Row } | { refused: string })

const SNIFFED_BYTES = 4_096

/** Reads JSON Lines, a JSON array, Firebase's `{"users": […]}`, CSV with a header, or PocketBase's SQLite. */
export async function* readExport(path: string, collection: string): AsyncGenerator<FoundRow> {
  const start = await readStart(path)
  if (start.startsWith(DATABASE_MAGIC)) {
    yield* sqliteRows(path, collection)
    return
  }
  const text = start.replace(/^\uFEFF/, '').trimStart()
  let bytes = 0
  if (!/^[[{]/.test(text)) yield* csvRows()
  else if (text.startsWith('[')) yield* jsonRows(splitRecords(chunks(), objectsAt(1)))
  else if (/^\{\s*"users"\s*:\s*\[/.test(text))
    yield* jsonRows(splitRecords(chunks(), objectsAt(2)))
  else yield* jsonRows(splitRecords(chunks(), lines()))

  async function* chunks() {
    for await (const chunk of Bun.file(path).stream()) {
      bytes += chunk.length
      yield chunk
    }
  }

  async function* jsonRows(records: AsyncIterable<FoundRecord>): AsyncGenerator<FoundRow> {
    for await (const { line, text } of records) {
      if (text?.trim() === '') continue
      yield { line, bytes, ...(text === null ? unreadable() : parseObject(text)) }
    }
  }

  async function* csvRows(): AsyncGenerator<FoundRow> {
    let header: string[] | null = null
    for await (const { line, text } of splitRecords(chunks(), lines({ quotes: true }))) {
      if (text?.trim() === '') continue
      const fields = text === null ? null : csvFields(text)
      if (header === null) {
        if (!fields?.includes('email')) throw unknownFile(path)
        header = fields
      } else if (fields?.length === header.length) {
        yield { line, bytes, row: Object.fromEntries(header.map((name, at) => [name, fields[at]])) }
      } else {
        yield {
          line,
          bytes,
          ...(fields ? { refused: 'has the wrong number of columns' } : unreadable()),
        }
      }
    }
  }
}

async function readStart(path: string): Promise<string> {
  const file = await open(path).catch((error) => {
    throw new UsageError(describeUnreadable(path, error))
  })
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } catch (error) {
    throw new UsageError(describeUnreadable(path, error))
  } finally {
    await file.close()
  }
}

function* sqliteRows(path: string, collection: string): Generator<FoundRow> {
  let line = 0
  try {
    for (const row of readRows(path, pocketbaseQueries(collection))) {
      line++
      yield { line, bytes: 0, row }
    }
  } catch (error) {
    const advice = `It must be PocketBase's data.db with an auth collection ${collection} (--collection).`
    throw new CommandError(`${path} cannot be read: ${(error as Error).message}. ${advice}`)
  }
}

function parseObject(text: string): { row: Row } | { refused: string } {
  const row = parseJson(text)
  if (row === undefined) return { refused: 'is not valid JSON' }
  return isObject(row) ? { row } : { refused: 'is not a JSON object' }
}

function unreadable() {
  return { refused: 'is longer than 1 MiB or not UTF-8' }
}

function unknownFile(path: string): UsageError {
  return new UsageError(
    `${path} has an unknown format. Use JSON, JSON Lines, CSV with an email column, or PocketBase's data.db.`,
  )
}
