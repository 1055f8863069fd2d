import { dataCommand, prettyJson } from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import type { UnmatchedProduct } from './access/offers.ts'
import type { PlanLike, Subscription } from './access/subscription.ts'
import type { Timeline } from './access/timeline.ts'
import type { Environment } from './environment.ts'
import type { EventSearch } from './inbox/event-search.ts'

type Needs = {
  eventSearch: EventSearch
  timeline: Pick<Timeline, 'explain' | 'explainForEvent'>
  subscription: Pick<Subscription<PlanLike>, 'read' | 'isKnown'>
  listUnmatched: () => Promise<UnmatchedProduct[]>
  findIdByEmail: (email: string) => Promise<string | null>
}

const eventsShow = dataCommand({
  name: 'events show',
  summary: 'Show a billing event with its body',
  arguments: '<id>',
  input: ([id = '']) => id,
  work: async ({ eventSearch, timeline }: Needs, id: string) => {
    const event = await eventSearch.show(id)
    const access = await timeline.explainForEvent(event)
    return { ...event, ...(access === null ? {} : { access }) }
  },
  print: ({ body, ...event }) => `${prettyJson(event)}\n${body}`,
})

const userSubscription = dataCommand({
  name: 'users subscription',
  summary: 'Show what a user has paid for',
  arguments: '<id-or-email>',
  options: [['--sandbox', 'test purchases instead of production']],
  input: ([id = ''], { sandbox }) =>
    ({ id, environment: sandbox ? 'sandbox' : 'production' }) as const,
  work: async (
    { subscription, timeline, findIdByEmail }: Needs,
    { id: idOrEmail, environment }: { id: string; environment: Environment },
  ) => {
    const id = (await findIdByEmail(idOrEmail)) ?? idOrEmail
    if (!(await subscription.isKnown(id))) {
      throw new AppError('not_found', `There is no user ${id}, and no billing event names that id.`)
    }
    const access = await timeline.explain(id, environment)
    return { access, ...(await subscription.read(id, environment, ['en'])).subscription }
  },
  print: prettyJson,
})

const plansUnmatched = dataCommand({
  name: 'plans unmatched',
  summary: 'List paid products that no plan includes',
  work: ({ listUnmatched }: Needs) => listUnmatched(),
  print: (products) =>
    products.length === 0
      ? 'Every paid product belongs to a plan.'
      : products
          .map(({ productId, priceId, entitlementIds, lines, customerId, ...product }) =>
            [
              productId ?? '-',
              priceId ?? '-',
              product.unlocks ? entitlementIds : 'unlocks nothing',
              lines,
              customerId,
              ...(product.environment === 'SANDBOX' ? ['test purchases'] : []),
            ].join('\t'),
          )
          .join('\n'),
})

export const billingCommands = [plansUnmatched, eventsShow, userSubscription]
