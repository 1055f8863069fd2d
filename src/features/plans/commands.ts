import { dataCommand } from '../../lib/command.ts'
import { prettyJson, readJsonFile } from '../../lib/json-file.ts'
import { inLanguage } from '../../lib/local-text.ts'
import type { Plans } from './service.ts'

type Needs = { plans: Plans }

const plansList = dataCommand({
  name: 'plans list',
  summary: 'List the pricing plans on sale',
  work: ({ plans }: Needs) => plans.list(),
  print: (plans) =>
    plans
      .map(({ code, price, currency, duration, name }) =>
        [code, `${price} ${currency} / ${duration}`, inLanguage(name, 'en')].join('\t'),
      )
      .join('\n'),
})

const plansExport = dataCommand({
  name: 'plans export',
  summary: 'Print the catalogue as JSON that import takes back',
  work: ({ plans }: Needs) => plans.list(),
  print: prettyJson,
})

const plansImport = dataCommand({
  name: 'plans import',
  summary: 'Replace the catalogue by code; plans that are missing are archived',
  arguments: '<file>',
  input: ([file]) => readJsonFile(file),
  risk: async ({ plans }: Needs, list: unknown) => {
    const archived = await plans.archivedBy(list)
    const { length } = await plans.list()
    if (length === 0 || archived.length < length) return null
    return `This archives all ${length} plans on sale: ${archived.join(', ')}.`
  },
  work: ({ plans }: Needs, list: unknown) => plans.replace(list),
  print: ({ imported, archived }) =>
    `Imported ${imported}, archived ${archived.length}${archived.length > 0 ? `: ${archived.join(', ')}` : ''}.`,
  changes: ({ imported, archived }) => ({ imported, archived }),
})

const plansArchive = dataCommand({
  name: 'plans archive',
  summary: 'Take a plan off sale',
  arguments: '<code>',
  input: ([code = '']) => code,
  work: async ({ plans }: Needs, code: string) => {
    await plans.archive(code)
    return { archived: code }
  },
  print: ({ archived }) => `Archived ${archived}.`,
  changes: ({ archived }) => ({ archived }),
})

export const plansCommands = [plansList, plansImport, plansExport, plansArchive]
