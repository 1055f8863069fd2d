import type { Tx } from '../../platform/db/db.ts'
import type { Feature, Platform, ServerContext } from '../../platform/feature.ts'
import type { Job } from '../../platform/jobs/jobs.ts'
import { nothing } from '../../platform/user-table.ts'
import { webhookActions } from './actions.ts'
import { webhooksConsole } from './console.ts'
import { webhookConditions, webhookMetrics } from './health.ts'
import { webhookCommands, webhookLists } from './lists.ts'
import { type WebhooksDb, webhookTables } from './schema.ts'
import type { Failure } from './sending/results.ts'
import { serverWebhookTags } from './server/model.ts'
import { serverWebhookRoutes } from './server/routes.ts'
import { createWebhooks, type Webhooks, type WebhooksDeps } from './webhooks.ts'

type Needs = {
  /** Queues an e-mail to the operators, if they have an address. */
  alertOperators: (tx: Tx, subject: string, text: string) => Promise<void>
  /** Overridden only in tests. */
  sending?: Pick<WebhooksDeps, 'resolve' | 'timeoutMs' | 'ca' | 'random'> | undefined
}

const REASONS: Record<Failure, string> = {
  gone: 'It returned 410 Gone.',
  failing: 'Every attempt of the last five days has failed.',
}

export const webhooksFeature = {
  tables: webhookTables,
  commands: webhookCommands,
  lists: webhookLists,
  actions: webhookActions,
  conditions: webhookConditions,
  metrics: webhookMetrics,
  serverTags: serverWebhookTags,
  create(platform: Platform<WebhooksDb>, needs: Needs) {
    const { alertOperators, sending = {} } = needs
    const { config, secrets } = platform
    const webhooks = createWebhooks({
      ...platform,
      ...sending,
      sealKey: secrets.sealKey,
      allowsPrivate: config.webhooksAllowPrivate,
      notifyDisabled: (tx, host, reason) =>
        alertOperators(
          tx,
          `The webhook endpoint at ${host} was disabled`,
          `${REASONS[reason]} It receives no new events. Fix the receiver, then enable the endpoint in the console or with "homeport webhooks enable".`,
        ),
    })
    return {
      services: { webhooks },
      serverRoutes: (context: ServerContext) => serverWebhookRoutes({ webhooks, ...context }),
      consoleRoutes: () => webhooksConsole({ webhooks }),
      queues: [webhooks],
      jobs: [oldMessages(webhooks)],
      userData: {
        webhookMessages: {
          deletion: webhooks.retention.eraseUser,
          export: nothing('messages repeat data that other members of the export contain'),
          merging: webhooks.retention.mergeUsers,
        },
      },
    }
  },
} satisfies Feature

function oldMessages({ retention }: Webhooks): Job {
  return {
    name: 'old webhook messages',
    schedule: ['50 3 * * *'],
    run: retention.clearOld,
    deletesByAge: true,
  }
}
