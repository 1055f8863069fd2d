import { inLanguage } from '../http/local-text.ts'
import type { Services } from '../services.ts'
import { dataCommand } from './command.ts'
import { prettyJson, readJsonFile } from './json-file.ts'

export const faqsList = dataCommand({
  name: 'faqs list',
  summary: 'List the questions and answers',
  work: readFaqs,
  print: (faqs) =>
    faqs.map(({ category, question }) => `${category}\t${inLanguage(question, 'en')}`).join('\n'),
})

export const faqsExport = dataCommand({
  name: 'faqs export',
  summary: 'Print all FAQs as JSON that import takes back',
  work: readFaqs,
  print: prettyJson,
})

export const faqsImport = dataCommand({
  name: 'faqs import',
  summary: 'Replace all FAQs by those of a JSON file',
  arguments: '<file>',
  input: ([file]) => readJsonFile(file),
  work: ({ content }, list) => content.importFaqs(list),
  print: ({ imported }) => `Imported ${imported}.`,
})

async function readFaqs({ content }: Services) {
  const faqs = await content.readFaqs()
  return faqs.map(({ question, answer, category }) => ({ question, answer, category }))
}
