import { Elysia } from 'elysia'
import { matchLanguage, readLanguages } from '../request/request-headers.ts'

/** Translations by English sentence; `#` stands for a number. */
export type Sentences = Record<string, string>

export type Translator = ReturnType<typeof createTranslator>

const ENGLISH = 'en'
const NUMBER = /\d[\d,.]*\d|\d/g

/** Translates messages into the language of a request, when there is a translation. */
export function createTranslator(byLanguage: Record<string, Sentences>) {
  const languages = [ENGLISH, ...Object.keys(byLanguage)]
  return { chooseLanguage, translate, translateAll }

  function chooseLanguage({ headers }: Request): string {
    return matchLanguage(readLanguages(headers), languages, ENGLISH)
  }

  function translate(sentence: string, language: string): string {
    return find(sentence, language) ?? sentence
  }

  /** Translates all sentences of a response, or none when one of them has no translation. */
  function translateAll(sentences: string[], request: Request) {
    const language = chooseLanguage(request)
    const translated = sentences.map((sentence) => find(sentence, language))
    const isComplete = translated.every((sentence) => sentence !== null)
    return isComplete ? { language, translated } : { language: ENGLISH, translated: sentences }
  }

  function find(sentence: string, language: string): string | null {
    const numbers = sentence.match(NUMBER) ?? []
    const translated = byLanguage[language]?.[sentence.replace(NUMBER, '#')]
    let at = 0
    return translated?.replace(/#/g, () => numbers[at++] ?? '') ?? null
  }
}

/** Translates the messages of responses without data into the language of the request. */
export function translatedReplies({ translateAll }: Pick<Translator, 'translateAll'>) {
  return new Elysia({ name: 'translated-replies' }).onAfterHandle(
    { as: 'scoped' },
    function translateMessage({ responseValue, request, set }) {
      if (isMessage(responseValue)) {
        const { language, translated } = translateAll([responseValue.message], request)
        set.headers['content-language'] = language
        return { ...responseValue, message: translated[0] }
      }
      return undefined
    },
  )
}

function isMessage(reply: unknown): reply is { message: string } {
  if (reply === null || typeof reply !== 'object' || reply instanceof Response) return false
  return 'message' in reply && typeof reply.message === 'string'
}
