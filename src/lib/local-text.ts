/** Text in one language, or the same text in several: `{ en: '…', de: '…' }`. */
export type LocalText = string | Record<string, string>
