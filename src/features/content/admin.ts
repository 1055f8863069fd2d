import type { RecordAction } from '../../platform/http/console-guard.ts'
import { publicationAdmin } from '../../platform/publications/doors.ts'
import { FaqImports } from './model.ts'
import type { Content } from './service.ts'

/** Edits, publishes and rolls back the FAQs. */
export function contentAdmin({ content, record }: { content: Content; record: RecordAction }) {
  const readLive = async () => {
    const { version, faqs } = await content.readLive()
    return { version, content: faqs }
  }
  const { importFaqs: publish, rollBack, find, history } = content
  const published = { readLive, publish, rollBack, find, history }
  return publicationAdmin('faqs', FaqImports.items, published, record)
}
