import { Elysia } from 'elysia'
import { type Sentences, translate } from '../../lib/translate.ts'
import { languagesOf, matchLanguage } from './request-headers.ts'

export type Translator = ReturnType<typeof createTranslator>

const ENGLISH = 'en'

/** Translates messages into the language of a request, when there is a translation. */
export function createTranslator(byLanguage: Record<string, Sentences>) {
  const languages = [ENGLISH, ...Object.keys(byLanguage)]
  return { languageOf, say, sayAll }

  /** The best language for a request. */
  function languageOf({ headers }: Request): string {
    return matchLanguage(languagesOf(headers), languages, ENGLISH)
  }

  function say(sentence: string, language: string): string {
    return translated(sentence, language) ?? sentence
  }

  /** Translates all sentences of a reply, or none when one of them has no translation. */
  function sayAll(sentences: string[], request: Request): { language: string; said: string[] } {
    const language = languageOf(request)
    const said = sentences.map((sentence) => translated(sentence, language))
    const isComplete = said.every((sentence) => sentence !== null)
    return isComplete ? { language, said } : { language: ENGLISH, said: sentences }
  }

  function translated(sentence: string, language: string): string | null {
    const sentences = byLanguage[language]
    return sentences ? translate(sentence, sentences) : null
  }
}

/** Translates the messages of replies without data into the language of the request. */
export function translatedReplies({ sayAll }: Pick<Translator, 'sayAll'>) {
  return new Elysia({ name: 'translated-replies' }).onAfterHandle(
    { as: 'scoped' },
    ({ responseValue, request, set }) => {
      if (!isMessage(responseValue)) return
      const { language, said } = sayAll([responseValue.message], request)
      set.headers['content-language'] = language
      return { ...responseValue, message: said[0] }
    },
  )
}

function isMessage(reply: unknown): reply is { message: string } {
  if (reply === null || typeof reply !== 'object' || reply instanceof Response) return false
  return 'message' in reply && typeof reply.message === 'string'
}
