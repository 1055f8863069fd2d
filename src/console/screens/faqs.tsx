import { Publishing } from '../editing/publishing.tsx'
import { Records } from '../editing/records.tsx'
import { inEnglish } from '../format.ts'

type Faqs = Record<string, unknown>[]

export function FaqsScreen() {
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
        />
      )}
    </Publishing>
  )
}
