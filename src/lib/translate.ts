/** Sentences of one language by the English ones; `#` stands for a number. */
export type Sentences = Record<string, string>

const NUMBER = /\d[\d,.]*\d|\d/g

/** `sentence` in the language of `sentences`, with its numbers; as it is where nobody has translated it. */
export function translate(sentence: string, sentences: Sentences): string {
  const numbers = sentence.match(NUMBER) ?? []
  const translated = sentences[sentence.replace(NUMBER, '#')]
  let at = 0
  return translated?.replace(/#/g, () => numbers[at++] ?? '') ?? sentence
}
