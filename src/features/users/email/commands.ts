import { dataCommand, prettyJson } from '../../../lib/command.ts'
import {
  exportCommand,
  historyOption,
  printHistory,
} from '../../../platform/publications/commands.ts'
import type { PublishedEmails } from './emails.ts'

type Needs = { emails: PublishedEmails }

const emailsGet = dataCommand({
  name: 'emails get',
  summary: 'Print the texts of all e-mails, published or built-in, as JSON for "emails publish"',
  options: [historyOption],
  input: (_args, { history }) => history === true,
  work: async ({ emails }: Needs, showsHistory) =>
    showsHistory ? (await emails.history()).versions : emails.listTexts(),
  print: (outcome) => (Array.isArray(outcome) ? printHistory(outcome) : prettyJson(outcome)),
})

const emailsExport = exportCommand('emails', 'what was published', ({ emails }: Needs) => emails)

export const emailCommands = [emailsGet, emailsExport]
