import { dataCommand, prettyJson, readJsonFile } from '../../lib/command.ts'
import { inLanguage } from '../../lib/text/local-text.ts'
import {
  historyOption,
  noteOption,
  printHistory,
  readNote,
  readVersion,
} from '../../platform/publications/doors.ts'
import { type Content, toImports } from './service.ts'

type Needs = { content: Content }

const faqsList = dataCommand({
  name: 'faqs list',
  summary: 'List the questions and answers',
  options: [historyOption],
  input: (_args, { history }) => history === true,
  work: async ({ content }: Needs, showsHistory) =>
    showsHistory
      ? { history: (await content.history()).versions }
      : toImports(await content.readFaqs()),
  print: (outcome) =>
    'history' in outcome
      ? printHistory(outcome.history)
      : outcome
          .map(({ category, question }) => `${category}\t${inLanguage(question, 'en')}`)
          .join('\n'),
})

const faqsExport = dataCommand({
  name: 'faqs export',
  summary: 'Print all FAQs as JSON for "faqs import"',
  work: async ({ content }: Needs) => toImports(await content.readFaqs()),
  print: prettyJson,
})

const faqsImport = dataCommand({
  name: 'faqs import',
  summary: 'Replace all FAQs with those in a JSON file',
  arguments: '<file>',
  options: [noteOption],
  input: async ([file], options) => ({ list: await readJsonFile(file), by: readNote(options) }),
  risk: async ({ content }: Needs, { list }) => {
    const { length } = await content.readFaqs()
    const isEmpty = Array.isArray(list) && list.length === 0
    return isEmpty && length > 0 ? `This removes all ${length} questions.` : null
  },
  work: ({ content }: Needs, { list, by }) => content.importFaqs(list, by),
  print: ({ imported }) => `Imported ${imported}.`,
  changes: ({ imported }) => ({ imported }),
})

const faqsRollback = dataCommand({
  name: 'faqs rollback',
  summary: 'Publish an earlier version again; "faqs list --history" lists them',
  arguments: '<version>',
  input: ([version]) => readVersion(version),
  work: ({ content }: Needs, version: number) => content.rollBack(version),
  print: ({ imported }) => `Published ${imported}.`,
  changes: (_outcome, version) => ({ version }),
})

export const contentCommands = [faqsList, faqsImport, faqsExport, faqsRollback]
