import type { Sentences } from '../../platform/http/language/translator.ts'

export const dataGerman: Sentences = {
  'The data has changed in the meantime. Load it again, then repeat the change.':
    'Die Daten haben sich inzwischen geändert. Lade sie neu und wiederhole die Änderung.',
  'The data must not exceed # bytes in total.':
    'Die Daten dürfen zusammen höchstens # Bytes haben.',
}
