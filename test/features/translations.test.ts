import { expect, test } from 'bun:test'
import { translations } from '../../src/server/declarations.ts'
import { isFeatureLeftOut } from '../support/left-out.ts'

const SOURCES = [
  'src/features/*/**/*.ts',
  'src/platform/{db,http,limits}/**/*.ts',
  'src/platform/encryption/opener.ts',
  'src/{lib,operations}/**/*.ts',
]
/** Files whose texts are examples, keyed, or for operators, other servers, stores or billing providers. */
const EXCLUDED_FILES =
  /features\/(alerts|api-keys|operators|settings|plans|content|webhooks)\/|\/server\/|api-key-guard|usage\/(model|service|consumption)|translations|texts|access-explanation|users\/import\/|users\/email\/(check-emails|model)|(billing|stores)\/routes|billing\/(grants|business)\/|stores\/(apple|checks|google|stripe\/(api|events|refresh|routes|status|purchases))|purchases\/links|apple-notifications|key-ring|file-settings|directory|accounts\/notes|console-guard|metrics|openapi-examples|db\/postgres|lib\/command|free-space|\/(actions|admin|commands)|operations\/console/
/** A string literal, and the property or function that receives it. */
const LITERAL = /(\w+:|\w+\()?\s*('(?:[^'\\\n]|\\.)+'|`[^`]+`)/g
/** Documentation, and errors that only a developer's mistake causes. */
const UNTRANSLATED = ['description:', 'summary:', 'advice:', 'malformed(']
/** A whole sentence, or the message of an error detail. */
const USER_TEXT = /^(?:[A-Z].* .*\.|(?:must|is|was) .*)$/s
const NUMBER = /\d[\d,.]*\d|\d/g

/** Texts for operators, or that a user sees only if an app or a server is misconfigured; `…` stands for a value. */
const FOR_DEVELOPERS = [
  // Only the command reports it.
  'No invitation was sent: …. Set SIGN_UP=invite first.',
  'Apps get example values of the settings ….',
  'Apps offer the example plans …: edit them, or run "homeport plans archive --examples".',
  'Another process of the app has just refreshed this session: use the tokens that it stored.',
  'This Idempotency-Key was used for another upload. Use a new key for each upload.',
  'Send the body as Content-Type: application/json.',
  'Send the body as Content-Type: application/x-www-form-urlencoded.',
  'Send the body without a Content-Encoding.',
  'Sign-in with … is not set up on this server.',
  'The … are invalid.',
  'The Host header is not valid.',
  'The body contains a value that cannot be stored.',
  'The event names no product.',
  'The event names no user.',
  'The field … has more than … ids.',
  'The field … is missing or cannot be read.',
  'The files of this database are in another store (…): set FILES_URL to that store on every instance, or run "homeport files claim" if they were moved.',
  'The form has no file.',
  'The transfer does not name both users.',
  'There are no rates for ….',
  'Set RC_API_KEY to refresh purchases from RevenueCat.',
  "This server has version … of the client: …. Keep the file of an older version in the app's repository.",
  // Only operators search.
  'More users match than a search lists. Enter more of the name or the id.',
  'There is no event ….',
  'There is no purchase ….',
  'Other operators are searching. Try again in a few seconds.',
  'There is no variant of that width.',
  'This message was already received.',
  'This path does not support ….',
  'This session was opened with a sealed request: seal all its requests.',
  'Too many sealed requests at once. Try again in a moment.',
  'is not set up',
  'must begin with an origin of CHECKOUT_ORIGINS',
  'must be a whole number from … to …',
  'must be one of …',
  'must be a duration such as month, 3 months, P1Y, P30D or lifetime',
  'must be text of at most 20 characters',
  'must be text of at most 64 characters',
  'must have a part with a file name',
  'was used for another upload',
]

test('every sentence that users see is translated', async () => {
  const keys = Object.keys(translations.de)
  const missing = (await sentences())
    .filter(({ text, pattern }) => USER_TEXT.test(text) && !keys.some((key) => pattern.test(key)))
    .map(({ text }) => text)
  const known = FOR_DEVELOPERS.filter((text) => !isFeatureLeftOut || missing.includes(text))
  expect([...new Set(missing)].toSorted()).toEqual(known.toSorted())
})

test('every translated sentence occurs in the code', async () => {
  const inCode = await sentences()
  const stale = Object.keys(translations.de).filter(
    (key) => !inCode.some(({ pattern }) => pattern.test(key)),
  )
  expect(stale).toEqual([])
})

/** The sources’ string literals, each with a pattern in which a placeholder matches any text. */
async function sentences(): Promise<{ text: string; pattern: RegExp }[]> {
  const found: { text: string; pattern: RegExp }[] = []
  const paths = SOURCES.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync()])
  for (const path of paths) {
    if (EXCLUDED_FILES.test(path)) continue
    const code = (await Bun.file(path).text()).replace(/^\s*(\/\/|\/?\*).*$/gm, '')
    for (const [, before = '', literal = ''] of code.matchAll(LITERAL)) {
      const text = literal.slice(1, -1).replace(/\$\{[^}]*\}/g, '…')
      const parts = text.split('…').map((part) => part.replace(NUMBER, '#'))
      if (UNTRANSLATED.includes(before) || parts.join('').length < 5) continue
      const pattern = new RegExp(`^${parts.map((part) => RegExp.escape(part)).join('.+')}$`, 's')
      found.push({ text, pattern })
    }
  }
  return found
}
