import { t } from 'elysia'
import { FALLBACK_LANGUAGE, type LocalText as Text } from '../../../lib/text/local-text.ts'
import { asLocale } from '../../../lib/text/locale.ts'
import { openQuery } from '../request/query.ts'
import { matchLanguage, readLanguages } from '../request/request-headers.ts'

const text = t.String({ maxLength: 10_000 })

/** Text in one language, or in several: `{ en: '…', de: '…' }`. */
export const LocalText = t.Union([
  text,
  t.Record(t.String({ pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$' }), text, {
    additionalProperties: false,
  }),
])

/** The languages that a request asks for, best first: the query's `lang`, or else Accept-Language. */
export function wantedLanguages(headers: Headers, lang: string | undefined): string[] {
  const requested = lang === undefined ? null : asLocale(lang)
  return requested ? [requested] : readLanguages(headers)
}

/** Returns a function that picks the best match for the wanted languages among those of a list of texts. */
export function createNegotiator<T extends object>(selectTexts: (list: T) => Text[]) {
  const languagesByList = new WeakMap<T, string[]>()
  return (list: T, wanted: string[]): string => {
    const available = languagesByList.get(list) ?? listLanguages(selectTexts(list))
    languagesByList.set(list, available)
    return matchLanguage(wanted, available, available[0] ?? FALLBACK_LANGUAGE)
  }
}

/** The fallback language comes first if there is text in it, or if no text names a language. */
function listLanguages(texts: Text[]): string[] {
  const tags = new Set(texts.flatMap((text) => (typeof text === 'string' ? [] : Object.keys(text))))
  const available = [...tags].filter((tag) => asLocale(tag) !== null)
  const isPlain = available.length === 0
  const others = available.filter((tag) => tag !== FALLBACK_LANGUAGE)
  return isPlain || tags.has(FALLBACK_LANGUAGE) ? [FALLBACK_LANGUAGE, ...others] : others
}

/** The query of every negotiated route. */
export const LanguageQuery = openQuery({
  lang: t.Optional(
    t.String({ maxLength: 35, description: 'overrides Accept-Language', examples: ['de'] }),
  ),
})
