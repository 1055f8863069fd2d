import type { Static, TObject } from '@sinclair/typebox'
import { t } from 'elysia'
import type { Options } from '../../lib/command.ts'
import type { Role } from '../../lib/roles.ts'
import type { CommandForm } from '../actions/action.ts'

/**
 * A list that operators can read. It is declared once: the command, the console's page and the CSV file derive from it.
 * `Needs` are the services that it uses.
 */
type List<Needs, Query extends TObject, Page, Row> = {
  /** Names the CSV file; with `list`, the command; with `.export-csv`, the audit log entry if it `isPersonal`. */
  name: string
  summary: string
  /** The path below the console's API; `/export.csv` is the file. */
  console: string
  /** Members in the path, and the filter: one flat, closed object. With `after`, the list has pages. */
  query: Query
  /** It contains personal data: its file requires the role `operator` and a recent proof, and the audit log records it. */
  isPersonal?: boolean
  read(needs: Needs, query: ReadQuery<Static<Query>>, context: ListContext): Promise<Page>
  rows(page: Page): Row[]
  /** The ids in a row that may belong to users, for their names. */
  userIds?(row: Row): (string | null)[]
  /** The response to the console; by default the page, with the names of its users. */
  show?(page: Page, needs: Needs, readNames: () => Promise<Names>): unknown
  /** The console shows it as a part of another page, so only the file has a route. */
  isPart?: boolean
  /** The cells of the CSV file by heading: text, a number, a boolean, a Date, null or JSON. */
  columns: Record<string, (row: Row, names: Names) => unknown>
  command: ListCommand<ReadQuery<Static<Query>>, Row> | null
}

type ListCommand<Query, Row> = Pick<
  CommandForm<never, Query, unknown, unknown>,
  'words' | 'arguments' | 'options'
> & {
  read?(args: string[], options: Options): Query
  /** A line, or its cells, which are separated by tabs. */
  line(row: Row): unknown[] | string
  /** `--json` prints the rows alone. */
  hasOnlyRows?: boolean
}

/** `limit`: rows of a command or of a slice of a file; the console's pages have the list's own size. */
type ReadQuery<Query> = 'after' extends keyof Query ? Query & { limit?: number } : Query

export type ListContext = {
  /** The purpose: a page of the console, a slice of a CSV file, or a command. */
  reader: 'page' | 'file' | 'command'
  /** Ends the search when the operator leaves. */
  signal: AbortSignal
  /** The operator's role; null for a command. */
  role: Role | null
  /** The base of file URLs; empty for a command. */
  baseUrl: string
}

/** Names or e-mail addresses of users, by id. */
export type Names = Record<string, string>

/** A list of any type: only its declaration says what it needs. */
export type AnyList = Omit<
  List<never, TObject, unknown, unknown>,
  'read' | 'columns' | 'command'
> & {
  read(needs: never, query: never, context: ListContext): Promise<unknown>
  columns: Record<string, (row: never, names: Names) => unknown>
  command: ListCommand<unknown, unknown> | null
}

/** Checks that the types of a list's parts match, before they are erased among other lists. */
export function defineList<Needs, Query extends TObject, Page, Row>(
  list: List<Needs, Query, Page, Row>,
): List<Needs, Query, Page, Row> {
  return list
}

/** The cursor in the query of a list with pages. */
export const after = t.Optional(
  t.String({
    maxLength: 400,
    description: 'continue after this cursor from the previous output',
    placeholder: 'cursor',
  }),
)

export function hasPages({ query }: AnyList): boolean {
  return 'after' in query.properties
}

/** The `after` of the next page; null on the last page. */
export function findNext(list: AnyList, page: unknown): string | null {
  return hasPages(list) ? (page as { next: string | null }).next : null
}
