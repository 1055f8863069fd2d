import { type Static, t } from 'elysia'
import { asLocale } from '../lib/locale.ts'
import { chooseLanguage, languagesOf } from './client-hints.ts'

const text = t.String({ maxLength: 10_000 })

/** Text in one language, or in several: `{ en: '…', de: '…' }`. */
export const LocalText = t.Union([
  text,
  t.Record(t.String({ pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$' }), text, {
    additionalProperties: false,
  }),
])
export type LocalText = Static<typeof LocalText>

/** The language of text that names none. */
const FALLBACK = 'en'

/** The language to answer in, among those that `texts` have: `?lang=` first, then Accept-Language. */
export function negotiate(texts: LocalText[], headers: Headers, lang: string | undefined): string {
  const available = new Set([FALLBACK])
  for (const text of texts) {
    if (typeof text === 'object')
      for (const tag of Object.keys(text)) if (asLocale(tag)) available.add(tag)
  }
  const asked = lang === undefined ? null : asLocale(lang)
  const wanted = asked ? [asked] : languagesOf(headers.get('accept-language'))
  return chooseLanguage(wanted, [...available], FALLBACK)
}

/** The text in `language`, else in the fallback language, else in any. */
export function inLanguage(text: LocalText, language: string): string {
  if (typeof text === 'string') return text
  return text[language] ?? text[FALLBACK] ?? Object.values(text)[0] ?? ''
}

/** The query of every negotiated route. */
export const LanguageQuery = t.Object({
  lang: t.Optional(t.String({ maxLength: 35, description: 'overrides Accept-Language' })),
})
