import { Elysia } from 'elysia'
import { asLocale } from '../../lib/text/locale.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { LanguageQuery } from '../../platform/http/language/local-text.ts'
import { data } from '../../platform/http/replies/envelope.ts'
import { publicationViews } from '../../platform/publications/views.ts'
import { PlanImport } from './model.ts'
import type { Plans } from './service.ts'

export function plansConsole({ plans }: { plans: Plans }) {
  return new Elysia({ name: 'plans-console' })
    .use(publicationViews('plans', PlanImport, plans))
    .get(
      `${CONSOLE_API}/preview/plans`,
      async ({ query: { lang = '' } }) => {
        const language = asLocale(lang)
        return data(await plans.listInLanguages(language ? [language] : []))
      },
      { query: LanguageQuery, ...allow('reader') },
    )
}
