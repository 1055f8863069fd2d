/** Text in one language, or the same text in several: `{ en: '…', de: '…' }`. */
export type LocalText = string | Record<string, string>

/** Assumed for text that specifies no language. */
export const FALLBACK_LANGUAGE = 'en'

/** The text in `language`, or else in the fallback language, or else in any. */
export function inLanguage(text: LocalText, language: string): string {
  if (typeof text === 'string') return text
  return text[language] ?? text[FALLBACK_LANGUAGE] ?? Object.values(text)[0] ?? ''
}
