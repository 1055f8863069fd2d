import type { AccessChange } from '../features/billing/access/access-states.ts'
import type { createAccounts } from '../features/users/accounts/accounts.ts'
import { toServerUser } from '../features/users/server/model.ts'
import type { Webhooks } from '../features/webhooks/webhooks.ts'
import type { Tx } from '../platform/db/db.ts'

type AccountChange = Parameters<Parameters<typeof createAccounts>[0]['onChange']>[1]

/** Emits webhook events in the transaction of the change. `filesUrl`: the base URL of files. */
export function createWebhookEvents({ emit }: Pick<Webhooks, 'emit'>, filesUrl: string) {
  return { emitAccountChange, emitAccessChange }

  async function emitAccountChange(tx: Tx, change: AccountChange) {
    if (change.kind === 'deleted') {
      const { userId, mergedInto } = change
      await emit(tx, { type: 'user.deleted', userId, data: { userId, mergedInto } })
      return
    }
    const { id: userId } = change.account
    const data = { userId, user: toServerUser(change.account, filesUrl) }
    await emit(tx, { type: `user.${change.kind}`, userId, data })
  }

  async function emitAccessChange(tx: Tx, { explain, ...change }: AccessChange) {
    const { userId } = change
    const data = {
      ...change,
      // Only read when an endpoint wants the event.
      get reason() {
        return explain()
      },
    }
    await emit(tx, { type: 'subscription.changed', userId, data })
  }
}
