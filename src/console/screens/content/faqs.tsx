import { Publishing } from '../../editing/publishing.tsx'
import { Records } from '../../editing/records.tsx'
import { inEnglish } from '../../format.ts'

type Faqs = Record<string, unknown>[]

/** The translations of an English text. */
function formatTranslations(text: unknown): string {
  if (typeof text !== 'object' || text === null) return ''
  const others = Object.entries(text).filter(([language]) => language !== 'en')
  return others.map(([, translation]) => translation).join(' · ')
}

export function Screen() {
  return (
    <Publishing<Faqs> kind="faqs" title="FAQs" nameOf={({ question }) => inEnglish(question)}>
      {({ draft, setDraft, schema }) => (
        <Records
          records={draft}
          onChange={setDraft}
          schema={schema}
          path="faqs"
          noun="question"
          removeVerb="Remove"
          nameOf={({ question }) => inEnglish(question)}
          summaryOf={({ question }) => formatTranslations(question)}
        />
      )}
    </Publishing>
  )
}
