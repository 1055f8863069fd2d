import { t } from 'elysia'
import { UsageError } from '../../lib/command.ts'
import { isExample } from '../../lib/example-content.ts'
import { defineAction } from '../../platform/actions/action.ts'
import { closedObject } from '../../platform/http/replies/envelope.ts'
import { auditChange, publicationActions } from '../../platform/publications/actions.ts'
import { findMissing, type Plans } from './service.ts'

type Needs = { plans: Plans }

const publications = publicationActions({
  kind: 'plans',
  noun: 'plans',
  summary: 'Replace the catalogue with a JSON file; missing plans are archived',
  history: 'plans list --history',
  find: ({ plans }: Needs) => plans,
  risk: async ({ plans }, { content }) => {
    const archived = await plans.codesToArchive(content)
    const { length } = await plans.list()
    if (length === 0 || archived.length < length) return null
    return `This archives all ${length} plans on sale: ${archived.join(', ')}.`
  },
  report: ({ before, content }) => ({
    imported: content.length,
    archived: findMissing(before, content),
  }),
  print: ({ imported, archived }, verb) =>
    `${verb} ${imported}, archived ${archived.length}${archived.length > 0 ? `: ${archived.join(', ')}` : ''}.`,
})

const archive = defineAction({
  name: 'plans.archive',
  summary: 'Stop selling a plan or, with --examples, every example plan; subscribers keep theirs',
  label: 'Archived plan',
  role: 'operator',
  input: closedObject({
    code: t.Optional(t.String()),
    examples: t.Optional(t.Boolean({ description: 'every example plan that has not been edited' })),
  }),
  console: null,
  async work({ plans }: Needs, { code }) {
    const examples = (await plans.list()).filter(isExample).map((plan) => plan.code)
    const codes = code === undefined ? examples : [code]
    return { codes, change: codes.length > 0 ? await plans.archive(...codes) : null }
  },
  audit: ({ codes, change }) => change && { ...auditChange(change), target: codes.join(', ') },
  command: {
    arguments: { code: '[code]' },
    read([code], { examples }) {
      if ((code === undefined) !== (examples === true))
        throw new UsageError('Specify one plan, or use --examples.')
      return code === undefined ? { examples: true } : { code }
    },
    report: ({ codes }) => ({ archived: codes.join(', ') || 'no plan' }),
    print: ({ archived }) =>
      archived === 'no plan' ? 'No plans to archive.' : `Archived ${archived}.`,
  },
})

export const plansActions = [...publications, archive]
