import { Elysia, t } from 'elysia'
import { inLanguage } from '../../lib/text/local-text.ts'
import {
  createNegotiator,
  LanguageQuery,
  wantedLanguages,
} from '../../platform/http/language/local-text.ts'
import { createDataSchema, responses } from '../../platform/http/replies/envelope.ts'
import {
  cached,
  createPublicCache,
  localized,
  sendPublic,
} from '../../platform/http/replies/replies.ts'
import { ContentVersions, type Faq, FaqReply } from './model.ts'
import type { Content } from './service.ts'

const VERSION_MAX_AGE_SECONDS = 30
/** Revalidated each time: an app must not get older texts than the version that announced them. */
const FAQ_MAX_AGE_SECONDS = 0
const tags = ['App']

export function contentRoutes({ content }: { content: Content }) {
  const versions = createPublicCache<ContentVersions>()
  const faqs = createPublicCache(translate)
  const negotiate = createNegotiator((list: Faq[]) =>
    list.flatMap(({ question, answer }) => [question, answer]),
  )
  return new Elysia({ name: 'content' })
    .get(
      '/api/user/content_version/v1',
      async ({ request, set }) =>
        sendPublic(
          versions(await content.readVersions()),
          { request, set },
          VERSION_MAX_AGE_SECONDS,
        ),
      {
        response: responses(createDataSchema(ContentVersions), 400),
        detail: {
          ...cached,
          tags,
          operationId: 'readContentVersions',
          summary: 'Content version counters',
          description:
            'Poll this often, and fetch the content only when its number has increased. Caches revalidate the content each time, with its ETag.',
        },
      },
    )
    .get(
      '/api/user/faqs/v1',
      async ({ request, set, query }) => {
        const list = await content.readFaqs()
        const language = negotiate(list, wantedLanguages(request.headers, query.lang))
        return sendPublic(faqs(list, language), { request, set }, FAQ_MAX_AGE_SECONDS, { language })
      },
      {
        query: LanguageQuery,
        response: responses(createDataSchema(t.Array(FaqReply)), 400, 422),
        detail: {
          ...cached,
          tags,
          ...localized,
          operationId: 'readFaqs',
          summary: 'Questions and answers',
          description: 'In the requested language if the texts are available in it.',
        },
      },
    )
}

function translate(list: Faq[], language: string) {
  return list.map(({ id, question, answer, category }) => ({
    _id: id,
    question: inLanguage(question, language),
    answer: inLanguage(answer, language),
    category,
  }))
}
