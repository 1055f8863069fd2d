import type { StringOptions } from '@sinclair/typebox'
import { type Static, t } from 'elysia'
import { asLocale } from '../../../lib/text/locale.ts'
import { LocalText } from '../../../platform/http/language/local-text.ts'
import { closedObject } from '../../../platform/http/replies/envelope.ts'
import { matchLanguage } from '../../../platform/http/request/request-headers.ts'
import { MAIL_KINDS, type MailKind } from './mail-kinds.ts'

const text = (options: StringOptions) => t.Optional(t.String(options))
const Texts = t.Optional(
  closedObject({ subject: LocalText, text: LocalText, button: t.Optional(LocalText) }),
)
const Frame = closedObject({
  appName: text({ maxLength: 100, description: 'instead of APP_NAME' }),
  logoUrl: text({
    pattern: '^(https://[^\\s"<>]{1,1000})?$',
    error: 'must be a URL that starts with https://',
    description: 'shown instead of the name, 32 pixels high',
  }),
  accentColor: text({
    pattern: '^(#[0-9A-Fa-f]{6})?$',
    error: 'must be a color such as #1d5f8a',
    description: 'of the button, such as #1d5f8a',
  }),
  alwaysLight: t.Optional(t.Boolean({ description: 'whether it stays light in dark mode' })),
  footer: t.Optional(LocalText),
  browserLink: t.Optional(LocalText),
})

/** The content that operators publish. Missing e-mails and languages use the built-in texts. */
export const Emails = closedObject({
  frame: t.Optional(Frame),
  ...(Object.fromEntries(MAIL_KINDS.map((kind) => [kind, Texts])) as Record<
    MailKind,
    typeof Texts
  >),
})
export type Emails = Static<typeof Emails>
export type MailFrame = Static<typeof Frame>

/** The best match among the published languages of an e-mail; without one, its built-in language, or English. */
export function chooseLanguage(locale: string, published: string[], builtIn: string[]): string {
  const languageOf = (tag: string) => tag.split('-')[0] ?? ''
  const own = languageOf(locale)
  if (published.length === 0) return builtIn.includes(own) ? own : 'en'
  const others = builtIn.filter((tag) => !published.some((one) => languageOf(one) === tag))
  const english = published.find((tag) => languageOf(tag) === 'en') ?? 'en'
  return matchLanguage([asLocale(locale) ?? 'en'], [...published, ...others], english)
}
