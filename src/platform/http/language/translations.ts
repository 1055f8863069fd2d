import type { Sentences } from './translator.ts'

/** User-facing messages that any route can send. Errors for developers are only in English. */
export const httpGerman: Sentences = {
  'Not found.': 'Nicht gefunden.',
  'Some fields are invalid.': 'Einige Angaben sind ungültig.',
  'A bearer token is required: sign in first.': 'Bitte melde dich zuerst an.',
  'Internal server error. Try again later.':
    'Auf dem Server ist ein Fehler aufgetreten. Versuche es später noch einmal.',
  'The server has no space left. Try again later.':
    'Der Server hat keinen Platz mehr. Versuche es später noch einmal.',
  'The database is unavailable. Try again in a moment.':
    'Die Datenbank ist gerade nicht erreichbar. Versuche es gleich noch einmal.',
  'The storage is unavailable. Try again in a moment.':
    'Der Speicher ist gerade nicht erreichbar. Versuche es gleich noch einmal.',
  'Too many attempts. Wait a moment and try again.':
    'Zu viele Versuche. Warte einen Moment und versuche es noch einmal.',
  'A sealed upload must not exceed # MiB in total.':
    'Ein verschlüsselter Upload darf höchstens # MiB haben, alle Dateien zusammen.',
  'The body is arriving too slowly.': 'Die Verbindung ist zu langsam.',
  'The body must not exceed # bytes.': 'Die Anfrage darf höchstens # Bytes haben.',
  'must be an e-mail address': 'muss eine E-Mail-Adresse sein',
  'must be text': 'muss Text sein',
  'must be a number': 'muss eine Zahl sein',
  'must be a whole number': 'muss eine ganze Zahl sein',
  'must be true or false': 'muss true oder false sein',
  'must be an object': 'muss ein Objekt sein',
  'must be an array': 'muss eine Liste sein',
  'must have # characters or more': 'braucht mindestens # Zeichen',
  'must have # characters or fewer': 'darf höchstens # Zeichen haben',
  'must be well-formed Unicode without U+#, and its numbers must fit into a double':
    'muss gültiges Unicode ohne U+# sein, und seine Zahlen müssen in ein Double passen',
  'must be sent only once': 'darf nur einmal gesendet werden',
  'is required': 'wird benötigt',
  'is not a known field': 'ist hier unbekannt',
  'cannot be changed': 'kann nicht geändert werden',
}
