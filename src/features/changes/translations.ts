import type { Sentences } from '../../platform/http/language/translator.ts'

export const changesGerman: Sentences = {
  'The server is restarting. Try again in a moment.':
    'Der Server startet neu. Versuche es gleich noch einmal.',
}
