import { t } from 'elysia'
import { defineAction } from '../../../platform/actions/action.ts'
import { closedObject, literalUnion } from '../../../platform/http/replies/envelope.ts'
import { PUBLICATION_LIMIT, publicationActions } from '../../../platform/publications/actions.ts'
import type { PublishedEmails } from './emails.ts'
import { MAIL_KINDS } from './mail-kinds.ts'

type Needs = { emails: PublishedEmails }

export const SampleFields = {
  kind: literalUnion(MAIL_KINDS, { description: 'which e-mail' }),
  language: t.Optional(t.String({ maxLength: 35, description: 'by default English' })),
  content: t.Optional(t.Any({ isForConsole: true })),
}

const test = defineAction({
  name: 'emails.test',
  summary: 'Send an e-mail with sample values to an address, to see how it arrives',
  label: 'Sent a test e-mail to',
  role: 'operator',
  input: closedObject({
    ...SampleFields,
    email: t.String({ maxLength: 254, field: { label: 'Send to' } }),
  }),
  console: 'emails/test',
  form: { verb: 'Send a test e-mail to', done: 'Test e-mail sent', isReversible: true },
  bodyLimit: PUBLICATION_LIMIT,
  work: ({ emails }: Needs, input, { caller }) => emails.sendTest(input, caller.name),
  audit: ({ email }, { kind, language = 'en' }) => ({ target: email, after: { kind, language } }),
  command: {
    arguments: { kind: '<kind>', email: '<e-mail>' },
    print: ({ email, isSent }) =>
      isSent
        ? `The mail server has accepted the e-mail to ${email}.`
        : 'SMTP_URL is not set: the e-mail was only written to a file.',
  },
})

export const emailActions = [
  ...publicationActions({
    kind: 'emails',
    noun: 'e-mails',
    summary: 'Replace the texts and the frame of all e-mails with those in a JSON file',
    history: 'emails get --history',
    find: ({ emails }: Needs) => emails,
    report: ({ version, content }) => ({ version, kinds: Object.keys(content) }),
    print: ({ version }, verb) => `${verb} as version ${version}.`,
  }),
  test,
]
