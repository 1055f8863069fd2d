import { Webhook } from 'standardwebhooks'
import type { WebhookEvent } from '../../../../src/features/webhooks/events.ts'
import type { TestApp } from '../../../support/app.ts'
import type { Received } from '../../../support/receiver.ts'

/** The content of a received message. Throws unless `secret` has signed it. */
export function verifyMessage({ body, headers }: Received, secret: string) {
  return new Webhook(secret).verify(body, headers) as {
    type: string
    timestamp: string
    data: object
  }
}

export async function emit({ services }: TestApp, ...events: WebhookEvent[]) {
  await services.db.write(async (tx) => {
    for (const event of events) await services.webhooks.emit(tx, event)
  })
}

/** One event of each type, about the user `userId`. */
export function sampleEvents(userId: string): WebhookEvent[] {
  const alert = {
    rule: 'disk-low',
    title: 'The disk is almost full',
    severity: 'page',
    value: 812.4,
    threshold: 1_000,
    unit: 'MB free',
  }
  const user = {
    _id: userId,
    loginType: 'email',
    email: 'zoë@example.com',
    emailVerified: true,
    profile: { name: 'Zoë “Z” 日本', locale: 'de' },
  }
  return [
    { type: 'user.created', userId, data: { userId, user } },
    { type: 'user.updated', userId, data: { userId, user } },
    { type: 'user.deleted', userId, data: { userId, mergedInto: null } },
    {
      type: 'subscription.changed',
      userId,
      data: {
        userId,
        environment: 'production',
        previous: { active: false },
        current: { active: true },
        reason: 'The trial has begun.',
      },
    },
    {
      type: 'usage.limit_reached',
      userId,
      data: { userId, limit: 'exports', max: 10, used: 10, resetsAt: null },
    },
    {
      type: 'file.added',
      userId,
      data: { userId, file: { key: 'k3v9.webp', type: 'supportTicket', fileName: 'scherm.webp' } },
    },
    { type: 'alert.fired', userId: null, data: alert },
    { type: 'alert.resolved', userId: null, data: alert },
    { type: 'test', userId: null, data: { text: 'This is a test.' } },
  ]
}
