import { dataCommand } from '../../lib/command.ts'
import { formatChecks, hasProblem } from './checks/store-check.ts'
import type { Stores } from './stores.ts'

type Needs = { stores: Stores }

const storesCheck = dataCommand({
  name: 'stores check',
  summary: 'Check the settings of the stores, and that they accept the keys',
  work: ({ stores }: Needs) => stores.status.check(),
  print: formatChecks,
  isFailure: hasProblem,
})

const storesStatus = dataCommand({
  name: 'stores status',
  summary: 'Show each app’s last notification, and up to when its history is complete',
  work: ({ stores }: Needs) => stores.status.read(),
  print: ({ url, apps, play, stripe }) =>
    [
      ...((play ?? stripe) === null || apps.length > 0
        ? [`Notification URL: ${url ?? 'set BASE_URL'}`]
        : []),
      ...apps.map(({ bundleId, environment, lastNotificationAt, completeUntil }) =>
        [bundleId, environment, lastNotificationAt ?? 'never', completeUntil ?? 'never'].join('\t'),
      ),
      ...(play === null ? [] : printPlay(play)),
      ...(stripe === null ? [] : printStripe(stripe)),
    ].join('\n'),
})

function printPlay(play: NonNullable<Awaited<ReturnType<Stores['status']['read']>>['play']>) {
  const { url, audience, packages, waiting, oldestUnacknowledgedAt } = play
  return [
    `Push URL: ${url ?? 'set BASE_URL'}`,
    `Push audience: ${audience ?? 'set BASE_URL'}`,
    ...packages.map(({ packageName, lastNotificationAt, refundsReadUntil }) =>
      [packageName, lastNotificationAt ?? 'never', refundsReadUntil ?? 'never'].join('\t'),
    ),
    `Waiting for Google: ${waiting}`,
    `Oldest unacknowledged purchase: ${oldestUnacknowledgedAt ?? 'none'}`,
  ]
}

function printStripe(stripe: NonNullable<Awaited<ReturnType<Stores['status']['read']>>['stripe']>) {
  const { url, serverId, environments, waiting } = stripe
  return [
    `Stripe webhook URL: ${url ?? 'set BASE_URL'}`,
    `homeport_server in Stripe's metadata: ${serverId}`,
    ...environments.map(({ environment, lastNotificationAt, completeUntil }) =>
      ['Stripe', environment, lastNotificationAt ?? 'never', completeUntil ?? 'never'].join('\t'),
    ),
    `Waiting for Stripe: ${waiting}`,
  ]
}

export const storeCommands = [storesCheck, storesStatus]
