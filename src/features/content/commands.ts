import { dataCommand } from '../../lib/command.ts'
import { prettyJson, readJsonFile } from '../../lib/json-file.ts'
import { inLanguage } from '../../lib/local-text.ts'
import type { Content } from './service.ts'

type Needs = { content: Content }

const faqsList = dataCommand({
  name: 'faqs list',
  summary: 'List the questions and answers',
  work: readFaqs,
  print: (faqs) =>
    faqs.map(({ category, question }) => `${category}\t${inLanguage(question, 'en')}`).join('\n'),
})

const faqsExport = dataCommand({
  name: 'faqs export',
  summary: 'Print all FAQs as JSON that import takes back',
  work: readFaqs,
  print: prettyJson,
})

const faqsImport = dataCommand({
  name: 'faqs import',
  summary: 'Replace all FAQs by those of a JSON file',
  arguments: '<file>',
  input: ([file]) => readJsonFile(file),
  risk: async ({ content }: Needs, list: unknown) => {
    const { length } = await content.readFaqs()
    const isEmpty = Array.isArray(list) && list.length === 0
    return isEmpty && length > 0 ? `This removes all ${length} questions.` : null
  },
  work: ({ content }: Needs, list: unknown) => content.importFaqs(list),
  print: ({ imported }) => `Imported ${imported}.`,
  changes: ({ imported }) => ({ imported }),
})

async function readFaqs({ content }: Needs) {
  const faqs = await content.readFaqs()
  return faqs.map(({ question, answer, category }) => ({ question, answer, category }))
}

export const contentCommands = [faqsList, faqsImport, faqsExport]
