import { inLanguage } from '../http/local-text.ts'
import { dataCommand } from './command.ts'
import { prettyJson, readJsonFile } from './json-file.ts'

export const plansList = dataCommand({
  name: 'plans list',
  summary: 'List the pricing plans on sale',
  work: ({ plans }) => plans.list(),
  print: (plans) =>
    plans
      .map(({ code, price, currency, duration, name }) =>
        [code, `${price} ${currency} / ${duration}`, inLanguage(name, 'en')].join('\t'),
      )
      .join('\n'),
})

export const plansExport = dataCommand({
  name: 'plans export',
  summary: 'Print the catalogue as JSON that import takes back',
  work: ({ plans }) => plans.list(),
  print: prettyJson,
})

export const plansImport = dataCommand({
  name: 'plans import',
  summary: 'Replace the catalogue by code; plans that are missing are archived',
  arguments: '<file>',
  input: ([file]) => readJsonFile(file),
  work: ({ plans }, list) => plans.replace(list),
  print: ({ imported, archived }) =>
    `Imported ${imported}, archived ${archived.length}${archived.length > 0 ? `: ${archived.join(', ')}` : ''}.`,
})

export const plansArchive = dataCommand({
  name: 'plans archive',
  summary: 'Take a plan off sale',
  arguments: '<code>',
  input: ([code = '']) => code,
  work: async ({ plans }, code) => {
    await plans.archive(code)
    return { archived: code }
  },
  print: ({ archived }) => `Archived ${archived}.`,
})
