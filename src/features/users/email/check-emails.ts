import { AppError } from '../../../lib/errors.ts'
import type { LocalText } from '../../../lib/text/local-text.ts'
import { check } from '../../../lib/validation.ts'
import { KINDS, MAIL_KINDS, type MailKind } from './mail-kinds.ts'
import { Emails } from './model.ts'

const FIELDS = ['subject', 'text', 'button'] as const
type Field = (typeof FIELDS)[number]
/** An e-mail's texts in one language. Empty lines separate the paragraphs. */
export type MailText = Record<Field, string>
type Texts = { [field in Field]?: LocalText | undefined }

/** Throws `validation_failed` with the kind, field and language of each text that could not be sent. */
export function checkEmails(edited: unknown): Emails {
  const emails = check(Emails, edited, 'emails')
  const texts = MAIL_KINDS.flatMap((kind) =>
    listLanguages(emails[kind]).flatMap((language) =>
      FIELDS.map((field) => ({
        path: `emails.${kind}.${field}.${language}`,
        message: findProblem(kind, field, readText(emails[kind], language)),
      })),
    ),
  )
  const footers = Object.entries(toTexts(emails.frame?.footer)).map(([language, footer]) => ({
    path: `emails.frame.footer.${language}`,
    message: findUnknown(footer, ['app']),
  }))
  const details = [...texts, ...footers].filter(({ message }) => message !== '')
  if (details.length === 0) return emails
  throw new AppError('validation_failed', 'The e-mails are invalid.', { details })
}

export function listLanguages(texts: Texts = {}): string[] {
  return [...new Set(FIELDS.flatMap((field) => Object.keys(toTexts(texts[field]))))]
}

export function readText(texts: Texts = {}, language: string): MailText {
  const read = (field: Field) => toTexts(texts[field])[language] ?? ''
  return { subject: read('subject'), text: read('text'), button: read('button') }
}

/** A text without a language is English. */
export function toTexts(text: LocalText = {}): Record<string, string> {
  return typeof text === 'string' ? { en: text } : text
}

/** Empty if there is no problem. */
function findProblem(kind: MailKind, field: Field, texts: MailText): string {
  const { placeholders } = KINDS[kind]
  const value = texts[field]
  const isBlank = value.trim() === ''
  if (field === 'button') {
    if (!placeholders.includes('link'))
      return isBlank ? '' : 'must be empty, because this e-mail has no link'
    if (isBlank && !texts.text.includes('{link}'))
      return 'is required, unless the text contains {link}'
    return findUnknown(value, [])
  }
  if (isBlank) return 'is required'
  if (field === 'subject') {
    if (!/^.{1,200}$/.test(value)) return 'must be one line of at most 200 characters'
    return findUnknown(
      value,
      placeholders.filter((name) => name !== 'link'),
    )
  }
  const isCodeMissing = placeholders.includes('code') && !value.includes('{code}')
  return isCodeMissing ? 'must contain {code}' : findUnknown(value, placeholders)
}

function findUnknown(text: string, allowed: string[]): string {
  const used = [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const unknown = used.find((name) => !allowed.includes(name))
  const known = allowed.map((name) => `{${name}}`).join(', ') || 'no placeholder'
  return unknown === undefined ? '' : `must not contain {${unknown}}, but may contain ${known}`
}
