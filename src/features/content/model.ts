import { type Static, t } from 'elysia'
import { LocalText } from '../../platform/http/language/local-text.ts'
import { closedObject, id, integer, text } from '../../platform/http/replies/envelope.ts'

export const ContentVersions = closedObject(
  {
    appSetting: integer({
      description: 'increases with every edit to the settings',
      examples: [3],
    }),
    faqs: integer({ description: 'increases with every edit to the FAQs', examples: [7] }),
  },
  'ContentVersions',
  'a version counter per kind of content: read the content again when its counter increases',
)
export type ContentVersions = Static<typeof ContentVersions>

export const FaqImports = t.Array(
  closedObject({ question: LocalText, answer: LocalText, category: t.String({ maxLength: 100 }) }),
  { maxItems: 1_000 },
)
export type FaqImport = Static<typeof FaqImports>[number]

export type Faq = FaqImport & { id: string; position: number }

export const FaqReply = closedObject(
  {
    _id: id('of the question'),
    question: text('the question in the user’s words', 'How do I cancel?'),
    answer: text('plain text', 'In the settings of your store.'),
    category: text('the group it is listed in', 'Billing'),
  },
  'Faq',
  'a question with its answer, in one language',
)
