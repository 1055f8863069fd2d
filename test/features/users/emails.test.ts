import { expect, test } from 'bun:test'
import builtIn from '../../../src/features/users/email/built-in-emails.json' with { type: 'json' }
import { PASSWORD } from '../../support/app.ts'
import { RESET, startMailApp, VERIFY } from '../../support/emails.ts'
import { tokenIn } from '../../support/smtp.ts'

const GERMAN = { 'accept-language': 'de-AT' }

async function refusalOf(work: Promise<unknown>): Promise<Record<string, string>> {
  const { code, details } = await work.then(
    () => ({ code: 'accepted', details: [] }),
    (error) => error,
  )
  expect(code).toBe('validation_failed')
  const entries = details.map(({ path, message }: { path: string; message: string }) => [
    path,
    message,
  ])
  return Object.fromEntries(entries)
}

test('a published German text reaches a German user with a working link, until it is rolled back', async () => {
  await using setup = await startMailApp()
  const { app, smtp, emails } = setup
  const builtInText = 'Der Link gilt 24 Stunden. Hast du kein Konto angelegt'
  await app.register('first@example.com', GERMAN)
  expect((await smtp.next('first@example.com')).text).toContain(builtInText)
  await emails.publish(VERIFY)
  await app.register('ann@example.com', GERMAN)
  const mail = await smtp.next('ann@example.com')
  expect(mail.subject).toBe('Willkommen bei Sunrise')
  const token = tokenIn(mail)
  expect(mail.text).toContain(
    `Schön, dass du da bist!\n\nDer Link gilt 24 Stunden.\n\nLos geht’s:\nhttps://api.example.com/auth/verify?token=${token}\n\nSunrise\n`.replaceAll(
      '\n',
      '\r\n',
    ),
  )
  await app.services.users.addresses.verify(token)
  const { directory } = app.services.users
  expect((await directory.find('ann@example.com')).emailVerifiedAt).not.toBeNull()
  await app.register('bob@example.com', { 'accept-language': 'en' })
  expect((await smtp.next('bob@example.com')).text).toContain('Please confirm that this address')
  await emails.rollBack(1)
  await app.register('last@example.com', GERMAN)
  const last = await smtp.next('last@example.com')
  expect([last.text.includes(builtInText), last.text.includes('Schön')]).toEqual([true, false])
})

test('without a publication, the subject and the text are the built-in ones', async () => {
  await using setup = await startMailApp()
  const message = { mail: 'email-changed', locale: 'en', detail: 'new@example.com' } as const
  const { subject, text } = await setup.emails.render(message)
  expect(subject).toBe('Sunrise: Your e-mail address was changed')
  expect(text).toBe(
    'Your account now uses the address new@example.com. If you did not change it, reply to this e-mail right away.\n\nSunrise\n',
  )
  const page = 'https://api.example.com/auth/reset?token=x'
  const links = { link: 'sunrise://reset?token=x', page }
  const reset = await setup.emails.render({ mail: 'reset-password', locale: 'de-CH', ...links })
  expect(reset.text).toBe(
    `Jemand, hoffentlich du, hat ein neues Passwort angefordert. Der Link gilt 30 Minuten. Warst du es nicht, musst du nichts tun.\n\nPasswort wählen:\nsunrise://reset?token=x\n\nIm Browser:\n${page}\n\nSunrise\n`,
  )
})

test('a name cannot add markup, and is left out until its user has proven the address', async () => {
  await using setup = await startMailApp()
  const { app, smtp, emails } = setup
  await emails.publish(RESET)
  const { user } = await app.register('ann@example.com')
  await smtp.next('ann@example.com')
  const name = '<img src=x onerror=alert(1)> & "{link}"'
  await app.services.db.write((tx) => app.services.accounts.update(tx, user._id, { name }))
  const askForReset = async () => {
    await app.services.users.addresses.requestReset('ann@example.com', '127.0.0.1')
    return smtp.next('ann@example.com')
  }
  const unverified = await askForReset()
  expect(unverified.subject).toBe('New password for')
  expect(unverified.text).toContain('Hello,')
  expect(unverified.text).not.toContain('onerror')
  await app.verifyEmail('ann@example.com')
  const { text } = await askForReset()
  expect(text).toContain(`Hello ${name},`)
  expect(text).toContain('Hello &lt;img src=x onerror=alert(1)&gt; &amp; &quot;{link}&quot;,</p>')
  expect(text.slice(text.indexOf('<!doctype'))).not.toContain('<img')
})

test('notices and codes name their user only at a proven address', async () => {
  await using setup = await startMailApp()
  const { app, smtp, emails } = setup
  await emails.publish({ 'new-device': { subject: 'Hello {name}', text: '{device}' } })
  const { user } = await app.register('ann@example.com')
  await smtp.next('ann@example.com')
  await app.services.db.write((tx) => app.services.accounts.update(tx, user._id, { name: 'Ann' }))
  const signInOn = async (device: string) => {
    const json = { email: 'ann@example.com', password: PASSWORD }
    await app.ask('POST', '/api/auth/login/v1', { json, headers: { device } })
    return (await smtp.next('ann@example.com')).subject
  }
  const { buildMail } = app.services.users.emailCodes
  const code = { email: 'ann@example.com', locale: 'en', code: '1', until: Number.MAX_VALUE }
  expect(await buildMail(code)).toMatchObject({ name: '' })
  expect(await signInOn('Pixel 9')).toBe('Hello')
  await app.verifyEmail('ann@example.com')
  expect(await buildMail(code)).toMatchObject({ name: 'Ann' })
  expect(await signInOn('Pixel 10')).toBe('Hello Ann')
})

const REFUSED: [string, object, Record<string, string>][] = [
  [
    'a text without its code',
    { 'email-code': { subject: { de: 'Code' }, text: { de: 'Hallo' } } },
    { 'emails.email-code.text.de': 'must contain {code}' },
  ],
  [
    'an unknown placeholder',
    { 'email-code': { subject: 'Code {cod}', text: { en: '{code}{Name}' } } },
    {
      'emails.email-code.subject.en':
        'must not contain {cod}, but may contain {app}, {code}, {name}, {minutes}',
      'emails.email-code.text.en':
        'must not contain {Name}, but may contain {app}, {code}, {name}, {minutes}',
    },
  ],
  [
    'an e-mail with neither a button nor {link}',
    { 'reset-password': { subject: { fr: 'Mot de passe' }, text: { fr: 'Bonjour' } } },
    { 'emails.reset-password.button.fr': 'is required, unless the text contains {link}' },
  ],
  [
    'a button in an e-mail without a link',
    { 'email-changed': { subject: 'A', text: 'B', button: 'C' } },
    { 'emails.email-changed.button.en': 'must be empty, because this e-mail has no link' },
  ],
  [
    'a link in the subject',
    { 'reset-password': { subject: '{link}', text: '{link}' } },
    {
      'emails.reset-password.subject.en':
        'must not contain {link}, but may contain {app}, {name}, {minutes}',
    },
  ],
  [
    'a language with a text but no subject',
    { 'email-changed': { subject: { en: 'A' }, text: { en: 'B', de: 'B' } } },
    { 'emails.email-changed.subject.de': 'is required' },
  ],
  [
    'a subject of two lines',
    { 'email-changed': { subject: 'A\r\nBcc: x@example.com', text: 'B' } },
    { 'emails.email-changed.subject.en': 'must be one line of at most 200 characters' },
  ],
  [
    'a logo that is not loaded over https',
    { frame: { logoUrl: 'javascript:alert(1)' } },
    { 'emails.frame.logoUrl': 'must be a URL that starts with https://' },
  ],
  [
    'a color that could add styles',
    { frame: { accentColor: 'red;background:url(https://x)' } },
    { 'emails.frame.accentColor': 'must be a color such as #1d5f8a' },
  ],
  [
    'a placeholder in the footer',
    { frame: { footer: { de: 'Für {name}' } } },
    { 'emails.frame.footer.de': 'must not contain {name}, but may contain {app}' },
  ],
]

test.each(REFUSED)(
  'refuses %s, naming e-mail, language and placeholder',
  async (_what, content, expected) => {
    await using setup = await startMailApp()
    expect(await refusalOf(setup.emails.publish(content))).toEqual(expected)
    expect(await setup.emails.readLive()).toEqual({ version: 0, content: {} })
  },
)

test('the built-in texts pass the validation of published texts', async () => {
  await using setup = await startMailApp()
  const { content } = await setup.emails.publish(builtIn.texts)
  expect(content).toEqual(builtIn.texts)
})

test('the frame is around every e-mail, in the HTML and in the text part', async () => {
  await using setup = await startMailApp()
  const frame = {
    appName: 'Sun & Moon',
    logoUrl: 'https://cdn.example.com/logo.png?a=1&b=2',
    accentColor: '#FFD400',
    footer: { en: 'Sun GmbH\nBerlin', de: '{app} GmbH' },
    browserLink: { fr: 'Ouvrir dans le navigateur' },
  }
  await setup.emails.publish({ frame })
  const links = { link: 'sun://x', page: 'https://api.example.com/x' }
  const mail = await setup.emails.render({ mail: 'verify-email', locale: 'en', ...links })
  expect(mail.subject).toBe('Sun & Moon: Confirm your e-mail address')
  expect(mail.text).toEndWith('\n\nSun & Moon\n\nSun GmbH\nBerlin\n')
  expect(mail.html).toContain(
    'src="https://cdn.example.com/logo.png?a=1&amp;b=2" alt="Sun &amp; Moon"',
  )
  expect(mail.html).toContain('background:#FFD400;color:#15181b')
  expect(mail.html).toContain('Sun GmbH<br>Berlin')
  expect(mail.html).toContain('prefers-color-scheme: dark')
  const german = await setup.emails.render({ mail: 'verify-email', locale: 'de', ...links })
  expect(german.html).toContain('Sun &amp; Moon GmbH')
  await setup.emails.publish({ frame: { accentColor: '#102030', alwaysLight: true } })
  const light = await setup.emails.render({ mail: 'verify-email', locale: 'en', ...links })
  expect(light.html).toContain('background:#102030;color:#ffffff')
  expect(light.html).not.toContain('dark')
})

test('a user gets the best published language, otherwise the built-in one, otherwise English', async () => {
  await using setup = await startMailApp()
  const texts = { en: 'English', 'pt-BR': 'Português' }
  await setup.emails.publish({ 'email-changed': { subject: texts, text: texts } })
  const subjectIn = async (locale: string) =>
    (await setup.emails.render({ mail: 'email-changed', locale })).subject
  expect(await subjectIn('pt-PT')).toBe('Português')
  expect(await subjectIn('de-AT')).toBe('Sunrise: Deine E-Mail-Adresse wurde geändert')
  for (const locale of ['en-GB', 'ja', 'xx', '']) expect(await subjectIn(locale)).toBe('English')
  const others = { de: 'Deutsch' }
  await setup.emails.publish({ 'email-changed': { subject: others, text: others } })
  expect(await subjectIn('de-AT')).toBe('Deutsch')
  expect(await subjectIn('ja')).toBe('Sunrise: Your e-mail address was changed')
})

test('an e-mail contains its link even if it has no button, or neither a button nor {link}', async () => {
  await using setup = await startMailApp()
  await setup.emails.publish(RESET)
  const link = 'https://api.example.com/auth/reset?token=x&y=1'
  const withName = await setup.emails.render({
    mail: 'reset-password',
    locale: 'en',
    link,
    name: 'Ann',
  })
  expect(withName.text).toBe(`Hello Ann,\n\nopen ${link} within 30 minutes.\n\nSunrise\n`)
  expect(withName.html.split('token=x&amp;y=1"')).toHaveLength(2)
  const unnamed = { 'reset-password': { subject: 'A', text: 'B' } }
  const message = { mail: 'reset-password', locale: 'en', link } as const
  const { text, html } = await setup.emails.render(message, unnamed)
  expect(text).toContain(link)
  expect(html).toContain('href="https://api.example.com/auth/reset?token=x&amp;y=1"')
})
