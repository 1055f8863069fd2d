import { Publishing } from '../editing/publishing.tsx'
import { Records } from '../editing/records.tsx'
import type { Me } from '../types.ts'

type Faqs = Record<string, unknown>[]

/** Questions and answers. */
export function FaqsScreen({ me }: { me: Me }) {
  return (
    <Publishing<Faqs> kind="faqs" title="FAQs" me={me}>
      {({ draft, setDraft, schema }) => (
        <Records
          records={draft}
          onChange={setDraft}
          schema={schema}
          noun="question"
          removal="Remove"
          nameOf={({ question }) => inEnglish(question)}
          isReadOnly={me.role === 'reader'}
        />
      )}
    </Publishing>
  )
}

function inEnglish(text: unknown): string {
  if (typeof text === 'string') return text
  const texts = (text ?? {}) as Record<string, string>
  return texts['en'] ?? Object.values(texts)[0] ?? ''
}
