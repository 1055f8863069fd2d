import { publicationActions } from '../../platform/publications/actions.ts'
import type { Content } from './service.ts'

export const contentActions = publicationActions({
  kind: 'faqs',
  noun: 'FAQs',
  summary: 'Replace all FAQs with those in a JSON file',
  history: 'faqs list --history',
  find: ({ content }: { content: Content }) => content,
  risk: async (services, { content: list }) => {
    const { length } = await services.content.readFaqs()
    const isEmpty = Array.isArray(list) && list.length === 0
    return isEmpty && length > 0 ? `This removes all ${length} questions.` : null
  },
  report: ({ content: list }) => ({ imported: list.length }),
  print: ({ imported }, verb) => `${verb} ${imported}.`,
})
