import { dataCommand, prettyJson, readJsonFile, UsageError } from '../../lib/command.ts'
import { isExample } from '../../lib/example-content.ts'
import { inLanguage } from '../../lib/text/local-text.ts'
import {
  historyOption,
  noteOption,
  printHistory,
  readNote,
  readVersion,
} from '../../platform/publications/doors.ts'
import type { Plan } from './model.ts'
import type { Plans } from './service.ts'

type Needs = { plans: Plans }

const plansList = dataCommand({
  name: 'plans list',
  summary: 'List the pricing plans on sale',
  options: [historyOption],
  input: (_args, { history }) => history === true,
  work: async ({ plans }: Needs, showsHistory) =>
    showsHistory ? { history: (await plans.history()).versions } : plans.list(),
  print: (outcome) => ('history' in outcome ? printHistory(outcome.history) : formatPlans(outcome)),
})
const plansExport = dataCommand({
  name: 'plans export',
  summary: 'Print the catalogue as JSON for "plans import"',
  work: ({ plans }: Needs) => plans.list(),
  print: prettyJson,
})

const plansImport = dataCommand({
  name: 'plans import',
  summary: 'Replace the catalogue with a JSON file; missing plans are archived',
  arguments: '<file>',
  options: [noteOption],
  input: async ([file], options) => ({ list: await readJsonFile(file), by: readNote(options) }),
  risk: async ({ plans }: Needs, { list }) => {
    const archived = await plans.codesToArchive(list)
    const { length } = await plans.list()
    if (length === 0 || archived.length < length) return null
    return `This archives all ${length} plans on sale: ${archived.join(', ')}.`
  },
  work: ({ plans }: Needs, { list, by }) => plans.replace(list, by),
  print: ({ imported, archived }) =>
    `Imported ${imported}, archived ${archived.length}${archived.length > 0 ? `: ${archived.join(', ')}` : ''}.`,
  changes: ({ imported, archived }) => ({ imported, archived }),
})

const plansArchive = dataCommand({
  name: 'plans archive',
  summary: 'Stop selling a plan, or with --examples every example; existing subscribers keep it',
  arguments: '[code]',
  options: [['--examples', 'every plan that a new installation has and nobody has edited']],
  input: ([code = null], { examples }) => {
    if ((code === null) === (examples === true)) return code
    throw new UsageError('Name one plan, or add --examples.')
  },
  work: async ({ plans }: Needs, code: string | null) => {
    const examples = (await plans.list()).filter(isExample).map((plan) => plan.code)
    const codes = code === null ? examples : [code]
    for (const one of codes) await plans.archive(one)
    return { archived: codes.join(', ') || 'no plan' }
  },
  print: ({ archived }) => `Archived ${archived}.`,
  changes: ({ archived }) => ({ archived }),
  target: ({ archived }) => archived,
})

const plansRollback = dataCommand({
  name: 'plans rollback',
  summary: 'Publish an earlier version again; "plans list --history" lists them',
  arguments: '<version>',
  input: ([version]) => readVersion(version),
  work: ({ plans }: Needs, version: number) => plans.rollBack(version),
  print: ({ imported, archived }) => `Published ${imported}, archived ${archived.length}.`,
  changes: ({ archived }, version) => ({ version, archived }),
})

function formatPlans(plans: Plan[]): string {
  return plans
    .map(({ code, price, currency, duration, name }) =>
      [code, `${price} ${currency} / ${duration}`, inLanguage(name, 'en')].join('\t'),
    )
    .join('\n')
}

export const plansCommands = [plansList, plansImport, plansExport, plansArchive, plansRollback]
