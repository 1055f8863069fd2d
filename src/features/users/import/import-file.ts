import { accessSync, constants, rmSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { CommandError, type OnProgress, type Options, UsageError } from '../../../lib/command.ts'
import { createLog } from '../../../lib/log/log.ts'
import { createPasswords, PASSWORD_COSTS } from '../../../lib/passwords/passwords.ts'
import { toEmailKey } from '../../../lib/text/email-address.ts'
import { readFirebaseParameters } from './formats/firebase-parameters.ts'
import { detectFormat, FORMATS, type Format, toDraft } from './formats/formats.ts'
import { readExport } from './formats/open-export.ts'
import { DamagedFile } from './formats/records.ts'
import type { Importer, ImportPart } from './importer.ts'
import { createLineFile } from './line-file.ts'
import { findLoginKey, Refusal, type Row, toUserRecord, type UserRecord } from './user-record.ts'

type RefusedUser = {
  line: number
  id?: string | undefined
  email?: string | undefined
  reason: string
}

export type ImportReport = {
  format: Format | null
  dryRun: boolean
  /** In a dry run, those that would be imported. */
  imported: number
  /** Imported users with an address only. */
  withoutPassword: number
  /** Users of earlier imports, left unchanged. */
  present: number
  /** Of these, users whose address differs from the file's. */
  changed: number
  /** Of these, users whose imported hash had never matched. */
  replaced: number
  refused: number
  /** The line where the file is damaged or cut off; nothing after it was read. Null if it is intact. */
  damagedAt: number | null
  /** How often each reason occurred. */
  reasons: Record<string, number>
  /** The refused users of a dry run, at most `MAX_SHOWN`. */
  refusedUsers: RefusedUser[]
  /** The files with the refused users, and with the former and new ids; null if there are none. */
  refusedFile: string | null
  idsFile: string | null
}

/** Small enough for one message to the server. */
const USERS_PER_PART = 2_000
const MAX_SHOWN = 1_000
const MAX_REASONS = 100

/** Reads a file, sends its users in parts, and returns the report. Runs in the terminal's process. */
export async function* importFile(
  [path = '']: string[],
  options: Options,
  onProgress: OnProgress,
): AsyncGenerator<ImportPart, ImportReport, Awaited<ReturnType<Importer['importPart']>>> {
  const dryRun = options['dryRun'] === true
  const collection = typeof options['collection'] === 'string' ? options['collection'] : 'users'
  const firebase = await readFirebaseParameters(options)
  let format = readFormat(options['format'])
  if (typeof options['check'] === 'string') await checkPassword(options['check'])
  const [refusedPath, idsPath] = [`${path}.refused.jsonl`, `${path}.ids.jsonl`]
  if (!dryRun) requireWritable(path, [refusedPath, idsPath])
  const size = Bun.file(path).size
  const refusedFile = createLineFile(refusedPath)
  const idsFile = createLineFile(idsPath)
  const report: ImportReport = {
    format,
    dryRun,
    imported: 0,
    withoutPassword: 0,
    present: 0,
    changed: 0,
    replaced: 0,
    refused: 0,
    damagedAt: null,
    reasons: {},
    refusedUsers: [],
    refusedFile: null,
    idsFile: null,
  }
  /** The ids and addresses so far, as hashes, which take less memory. */
  const seen = new Set<bigint>()
  let rows = 0
  let part: UserRecord[] = []
  let kinds: string[] = []
  try {
    for await (const found of readRows()) {
      if (++rows % USERS_PER_PART === 0)
        onProgress(`Importing ${basename(path)}`, found.bytes, size)
      if ('refused' in found) {
        recordRefusal(found.line, null, null, found.refused)
        continue
      }
      format ??= detectFormat(found.row)
      const user = readUser(found.row, format, found.line)
      if (user !== null) part.push(user)
      if (part.length === USERS_PER_PART) yield* send()
    }
    if (part.length > 0) yield* send()
  } finally {
    if (!dryRun) for (const file of [refusedFile, idsFile]) file.close()
  }
  const files = { refusedFile: refusedFile.writtenPath(), idsFile: idsFile.writtenPath() }
  return { ...report, format, ...files }

  /** The rows up to the end of the file, or to where it is damaged. */
  async function* readRows() {
    try {
      yield* readExport(path, collection)
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error
      report.damagedAt = error.line
    }
  }

  async function checkPassword(checkPath: string) {
    const [email = '', password = ''] = (await Bun.file(checkPath).text()).split(/\r?\n/)
    for await (const found of readExport(path, collection)) {
      const isWanted =
        'row' in found && toEmailKey(String(found.row['email'])) === toEmailKey(email)
      if (!isWanted) continue
      const hash = readPasswordHash(found.row, found.line)
      const { serialize } = createPasswords(PASSWORD_COSTS.standard, createLog('error'))
      if (await serialize([], ({ verify }) => verify(password, hash))) return
      throw new CommandError(
        `The password of ${email} does not match its hash: check it and the hash parameters. Nothing was written.`,
      )
    }
    throw new CommandError(`${path} has no user ${email}. Nothing was written.`)
  }

  function readPasswordHash(row: Row, line: number): string | null {
    try {
      return toUserRecord(toDraft(row, format ?? detectFormat(row), firebase), '', line)
        .passwordHash
    } catch (error) {
      throw error instanceof Refusal ? new CommandError(`The user ${error.message}.`) : error
    }
  }

  function readUser(row: Row, rowFormat: Format, line: number): UserRecord | null {
    try {
      const user = toUserRecord(toDraft(row, rowFormat, firebase), nameSource(rowFormat), line)
      requireNew(user)
      return user
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      recordRefusal(line, row['id'] ?? row['localId'], row['email'], error.message)
      return null
    }
  }

  /** The name of the source, within which ids are unique. */
  function nameSource(rowFormat: Format): string {
    return typeof options['source'] === 'string' ? `${rowFormat}\0${options['source']}` : rowFormat
  }

  function requireNew(user: UserRecord) {
    const key = findLoginKey(user)
    const hashes = [user.id, ...(key === null ? [] : [key])].map((text) => BigInt(Bun.hash(text)))
    if (hashes.some((hash) => seen.has(hash))) throw new Refusal('is in the file twice')
    for (const hash of hashes) seen.add(hash)
  }

  async function* send() {
    const users = part
    part = []
    const outcome: Awaited<ReturnType<Importer['importPart']>> = yield { users, dryRun, kinds }
    if (dryRun) kinds = outcome.kinds
    for (const [at, decision] of outcome.decisions.entries()) {
      const user = users[at] as UserRecord
      const { line, id, formerId, email } = user
      if (decision === null || typeof decision === 'string') {
        report[decision === null ? 'imported' : 'present']++
        if (decision === 'changed' || decision === 'replaced') report[decision]++
        const hasNoLogin = user.passwordHash === null && user.identities.length === 0
        if (decision === null && hasNoLogin) report.withoutPassword++
        if (!dryRun && formerId !== null) idsFile.write({ formerId, id })
      } else {
        recordRefusal(line, formerId, email, decision.refused)
      }
    }
  }

  function recordRefusal(line: number, id: unknown, email: unknown, reason: string) {
    const user = { line, id: toPrintable(id), email: toPrintable(email), reason }
    report.refused++
    const isListed = reason in report.reasons || Object.keys(report.reasons).length < MAX_REASONS
    const counted = isListed ? reason : 'other reasons'
    report.reasons[counted] = (report.reasons[counted] ?? 0) + 1
    if (!dryRun) refusedFile.write(user)
    else if (report.refusedUsers.length < MAX_SHOWN) report.refusedUsers.push(user)
  }
}

/** Makes a refused user's value, which may be any text, safe for the terminal. */
function toPrintable(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, 254).replaceAll(/\p{C}/gu, '') : undefined
}

/** Fails before the import starts if the reports cannot be written next to the file. */
function requireWritable(path: string, reports: string[]) {
  const folder = dirname(path)
  try {
    accessSync(folder, constants.W_OK)
  } catch {
    throw new UsageError(
      `${folder} is not writable. The import writes its reports there: move the file.`,
    )
  }
  for (const report of reports) {
    try {
      rmSync(report, { force: true })
    } catch {
      throw new UsageError(
        `${report} cannot be replaced. The import writes its report there: remove it, or move the file.`,
      )
    }
  }
}

function readFormat(option: string | boolean | undefined): Format | null {
  if (option === undefined) return null
  const format = FORMATS.find((name) => name === option)
  if (format === undefined) throw new UsageError(`--format takes ${FORMATS.join(', ')}.`)
  return format
}
