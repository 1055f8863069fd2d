import { Elysia } from 'elysia'
import { asLocale } from '../../lib/text/locale.ts'
import { allow, CONSOLE_API, type RecordAction } from '../../platform/http/console-guard.ts'
import { LanguageQuery } from '../../platform/http/language/local-text.ts'
import { data } from '../../platform/http/replies/envelope.ts'
import { publicationAdmin } from '../../platform/publications/doors.ts'
import { PlanImport } from './model.ts'
import type { Plans } from './service.ts'

/** Edits, publishes, rolls back and previews the pricing plans. */
export function plansAdmin({ plans, record }: { plans: Plans; record: RecordAction }) {
  const readLive = async () => {
    const { version, plans: content } = await plans.readLive()
    return { version, content }
  }
  const { replace: publish, rollBack, find, history } = plans
  return new Elysia({ name: 'plans-admin' })
    .use(
      publicationAdmin('plans', PlanImport, { readLive, publish, rollBack, find, history }, record),
    )
    .get(
      `${CONSOLE_API}/preview/plans`,
      async ({ query: { lang = '' } }) => {
        const language = asLocale(lang)
        return data(await plans.listIn(language ? [language] : []))
      },
      { query: LanguageQuery, ...allow('reader') },
    )
}
