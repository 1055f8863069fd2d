import { Elysia, type TSchema, t } from 'elysia'
import { type Options, UsageError } from '../../lib/command.ts'
import { differencesBetween, splitDifferences } from '../../lib/text/differences.ts'
import { describeConditions, describePath, isRule } from '../../lib/text/rule-labels.ts'
import { json } from '../http/body/body.ts'
import { allow, CONSOLE_API, findOperator, type RecordAction } from '../http/console-guard.ts'
import { closedObject, data } from '../http/replies/envelope.ts'
import type { Publication, Publishing } from './publications.ts'

/** Content that is edited as a whole and versioned. */
type VersionedContent = {
  /** The current content and its version. */
  readLive: () => Promise<{ version: number; content: unknown }>
  publish: (edited: unknown, by: Publishing) => Promise<unknown>
  rollBack: (version: number, by: Publishing) => Promise<unknown>
  find: (version: number) => Promise<unknown>
  history: (before?: number) => Promise<{ versions: Publication[]; next: number | null }>
}

/** In bytes. */
const PUBLICATION_LIMIT = 2 * 1024 * 1024

const note = t.String({ maxLength: 500 })
const version = t.Integer({ minimum: 0 })
const Publish = closedObject({ base: version, note, content: t.Any() })
const RollBack = closedObject({ base: version, note, version })
const VersionParam = closedObject({ version: t.Numeric({ minimum: 1 }) })
const HistoryQuery = closedObject({ before: t.Optional(t.Numeric({ minimum: 1 })) })

/** Routes to read, publish and roll back one `kind` of content; the console builds its form from `schema`. */
export function publicationAdmin(
  kind: string,
  schema: TSchema,
  { readLive, publish, rollBack, find, history }: VersionedContent,
  record: RecordAction,
) {
  return new Elysia({ name: `${kind}-publications`, prefix: `${CONSOLE_API}/${kind}` })
    .get('', async () => data({ ...(await readLive()), schema }), allow('reader'))
    .get('/history', async ({ query }) => data(await history(query.before)), {
      query: HistoryQuery,
      ...allow('reader'),
    })
    .get('/versions/:version', async ({ params }) => data(await find(params.version)), {
      params: VersionParam,
      ...allow('reader'),
    })
    .post(
      '/publish',
      async ({ request, body: { base, note, content } }) => {
        await change(request, 'publish', base, () =>
          publish(content, { base, note, author: findOperator(request).name }),
        )
        return data(await readLive())
      },
      { ...json(Publish, PUBLICATION_LIMIT), ...allow('operator') },
    )
    .post(
      '/rollback',
      async ({ request, body: { base, note, version } }) => {
        await change(request, 'rollback', base, () =>
          rollBack(version, { base, note, author: findOperator(request).name }),
        )
        return data(await readLive())
      },
      { ...json(RollBack), ...allow('operator') },
    )

  /** The audit log records only the differences; the history keeps the whole content. */
  async function change(request: Request, act: string, base: number, work: () => Promise<unknown>) {
    const { content: before } = await readLive()
    await work()
    // Content from before versioning has become version 1.
    const version = Math.max(base, 1) + 1
    const differences = differencesBetween(before, await find(version))
    await record(request, {
      action: `${kind}.${act}`,
      target: `version ${version}`,
      ...splitDifferences(differences),
      isPublic: true,
    })
  }
}

export const historyOption: [string, string] = ['--history', 'list the versions, newest first']
export const noteOption: [string, string] = ['--note <text>', 'the reason, for the history']

export function readNote({ note }: Options): Publishing {
  return { author: null, note: typeof note === 'string' ? note : '' }
}

export function readVersion(text: string | undefined): number {
  const version = Number(text)
  if (Number.isInteger(version) && version > 0) return version
  throw new UsageError('Specify the version number: --history lists all versions.')
}

/** One line per version, followed by one line per change. */
export function printHistory(versions: Publication[]): string {
  return versions
    .flatMap(({ version, author, note, publishedAt, differences }) => [
      [version, publishedAt, author ?? 'command', note].join('\t').trimEnd(),
      ...differences.map(
        ({ path, before, after }) =>
          `\t${describePath(path)}: ${formatValue(before)} → ${formatValue(after)}`,
      ),
    ])
    .join('\n')
}

function formatValue(value: unknown): string {
  if (!isRule(value)) return JSON.stringify(value)
  return `${JSON.stringify(value.value)} ${describeConditions(value)}`
}
