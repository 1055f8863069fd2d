import { AppError } from '../lib/errors.ts'
import { dataCommand, UsageError } from './command.ts'
import { prettyJson } from './json-file.ts'

type Listed = {
  eventId: string
  type: string
  receivedAt: string | Date
  appUserId: string | null
  outcome: string
  duplicates: number
}

export const eventsList = dataCommand({
  name: 'events list',
  summary: 'List billing events, the newest first',
  options: [
    ['--user <id>', 'only those of this app user id'],
    ['--type <type>', 'only those of this type'],
    ['--failed', 'only those that could not be applied'],
    ['--limit <count>', 'at most this many (50)'],
  ],
  input: (_args, { user, type, failed, limit }) => ({
    ...(typeof user === 'string' ? { user } : {}),
    ...(typeof type === 'string' ? { type } : {}),
    ...(failed ? { failed: true } : {}),
    ...(typeof limit === 'string' ? { limit: count(limit) } : {}),
  }),
  work: ({ billing }, filter): Promise<Listed[]> => billing.list(filter),
  print: (events) =>
    events
      .map(({ receivedAt, type, eventId, appUserId, outcome, duplicates }) =>
        [receivedAt, type, eventId, appUserId ?? '-', outcome, `+${duplicates}`].join('\t'),
      )
      .join('\n'),
})

export const eventsShow = dataCommand({
  name: 'events show',
  summary: 'Show one billing event with its body as it came',
  arguments: '<id>',
  input: ([id = '']) => id,
  work: async ({ billing }, id) => {
    const event = await billing.show(id)
    if (!event) throw new AppError('not_found', `There is no event ${id}.`)
    return event
  },
  print: ({ body, ...event }) => `${prettyJson(event)}\n${body}`,
})

function count(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError('--limit takes a number from 1 to 999999.')
  return Number(text)
}
