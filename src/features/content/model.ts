import { type Static, t } from 'elysia'
import { strict } from '../../http/envelope.ts'
import { LocalText } from '../../http/local-text.ts'

export const ContentVersions = strict(
  { appSetting: t.Integer(), faqs: t.Integer() },
  'ContentVersions',
)
export type ContentVersions = Static<typeof ContentVersions>

export const FaqImports = t.Array(
  strict({ question: LocalText, answer: LocalText, category: t.String({ maxLength: 100 }) }),
  { maxItems: 1_000 },
)
export type FaqImport = Static<typeof FaqImports>[number]

/** A FAQ as it is kept. */
export type Faq = FaqImport & { id: string; position: number }

/** A FAQ in one language. */
export const FaqReply = strict(
  {
    _id: t.String(),
    question: t.String(),
    answer: t.String(),
    category: t.String(),
  },
  'Faq',
)
