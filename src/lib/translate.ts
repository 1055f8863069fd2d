/** Translations by English sentence; `#` stands for a number. */
export type Sentences = Record<string, string>

const NUMBER = /\d[\d,.]*\d|\d/g

/** `sentence` in the language of `sentences`, with its numbers; null without a translation. */
export function translate(sentence: string, sentences: Sentences): string | null {
  const numbers = sentence.match(NUMBER) ?? []
  const translated = sentences[sentence.replace(NUMBER, '#')]
  let at = 0
  return translated?.replace(/#/g, () => numbers[at++] ?? '') ?? null
}
