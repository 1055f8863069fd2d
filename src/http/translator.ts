import { type Sentences, translate } from '../lib/translate.ts'
import { languagesOf, matchLanguage } from './request-headers.ts'

export type Translator = ReturnType<typeof createTranslator>

const ENGLISH = 'en'

/** Says sentences in the language that a request asks for, where they were translated into it. */
export function createTranslator(byLanguage: Record<string, Sentences>) {
  const languages = [ENGLISH, ...Object.keys(byLanguage)]
  return { languageOf, say }

  /** The language that suits a request best. */
  function languageOf({ headers }: Request): string {
    return matchLanguage(languagesOf(headers), languages, ENGLISH)
  }

  function say(sentence: string, language: string): string {
    const sentences = byLanguage[language]
    return sentences ? translate(sentence, sentences) : sentence
  }
}
