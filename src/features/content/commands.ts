import { dataCommand } from '../../lib/command.ts'
import { inLanguage } from '../../lib/text/local-text.ts'
import { exportCommand, historyOption, printHistory } from '../../platform/publications/commands.ts'
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

const faqsExport = exportCommand('faqs', 'all FAQs', ({ content }: Needs) => content)

export const contentCommands = [faqsList, faqsExport]
