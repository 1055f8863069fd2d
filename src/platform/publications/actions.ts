import { type Static, t } from 'elysia'
import { readJsonFile, UsageError } from '../../lib/command.ts'
import { invalidField } from '../../lib/errors.ts'
import { differencesBetween, splitDifferences } from '../../lib/text/differences.ts'
import { type ActionContext, defineAction, findAuthor } from '../actions/action.ts'
import { readInput } from '../actions/command-line.ts'
import { closedObject, integer } from '../http/replies/envelope.ts'
import type { Change, Published, Publishing } from './publications.ts'

type PublishedKind<Needs, Content, Report> = {
  /** `settings`, `plans`, `faqs` or `emails`. */
  kind: string
  noun: string
  summary: string
  history: string
  find: (needs: Needs) => Pick<Published<Content>, 'publish' | 'rollBack'>
  /** A warning about what a file would remove. */
  risk?: (needs: Needs, input: { content: unknown }) => Promise<string | null>
  report: (change: Change<Content>, needs: Needs) => Report | Promise<Report>
  print: (report: Report, verb: string) => string
}

/** In bytes. */
export const PUBLICATION_LIMIT = 2 * 1024 * 1024

export const Reason = closedObject({
  base: t.Optional(integer({ minimum: 0, isForConsole: true })),
  note: t.Optional(t.String({ maxLength: 500, description: 'the reason, for the history' })),
})
const Publish = closedObject({ content: t.Any(), ...Reason.properties })
const RollBack = closedObject({ version: integer({ minimum: 0 }), ...Reason.properties })

/** The actions that publish one kind of content, or an earlier version of it again. */
export function publicationActions<Needs, Content, Report>(
  about: PublishedKind<Needs, Content, Report>,
) {
  const { kind, noun, find, risk, report, print } = about
  const publish = defineAction({
    name: `${kind}.publish`,
    summary: about.summary,
    label: `Published ${noun}`,
    role: 'operator',
    input: Publish,
    console: `${kind}/publish`,
    bodyLimit: PUBLICATION_LIMIT,
    work: (needs: Needs, { content, ...reason }, context) =>
      find(needs).publish(content, toPublishing(reason, context)),
    audit: (change) => auditChange(change),
    show: ({ version, content }) => ({ version, content }),
    command: {
      arguments: { content: '<file>' },
      read: async ([file], options) => ({
        ...readInput(Reason, [], [], options),
        content: await readJsonFile(file),
      }),
      ...(risk && { risk }),
      report,
      print: (reported) => print(reported, 'Imported'),
    },
  })
  const rollback = defineAction({
    name: `${kind}.rollback`,
    summary: `Publish an earlier version again; "${about.history}" lists them`,
    label: `Rolled back ${noun}`,
    role: 'operator',
    input: RollBack,
    console: `${kind}/rollback`,
    work: (needs: Needs, { version, ...reason }, context) =>
      find(needs).rollBack(version, toPublishing(reason, context)),
    audit: (change) => auditChange(change),
    show: ({ version, content }) => ({ version, content }),
    command: {
      arguments: { version: '<version>' },
      read: ([version], options) => ({
        ...readInput(Reason, [], [], options),
        version: readVersion(version),
      }),
      report,
      print: (reported) => print(reported, 'Published'),
    },
  })
  return [publish, rollback]
}

/** Who publishes, and why. The console must say which version was edited, so that it overwrites no other. */
export function toPublishing(
  { base, note = '' }: Static<typeof Reason>,
  { caller }: Pick<ActionContext, 'caller'>,
): Publishing {
  if (caller.via === 'console' && base === undefined) throw invalidField('base', 'is required')
  return { author: findAuthor(caller), note, base }
}

/** The audit log records only the differences; the history keeps the whole content. */
export function auditChange({ version, before, content }: Change<unknown>) {
  const differences = splitDifferences(differencesBetween(before, content))
  return { target: `version ${version}`, ...differences, isPublic: true }
}

function readVersion(text: string | undefined): number {
  const version = Number(text)
  if (Number.isInteger(version) && version > 0) return version
  throw new UsageError('Specify the version number: --history lists all versions.')
}
