import type { AddedFile } from '../features/attachments/service.ts'
import type { AccessChange } from '../features/billing/access/access-states.ts'
import type { Changes } from '../features/changes/service.ts'
import type { LimitReached } from '../features/usage/consumption.ts'
import type { AccountChange } from '../features/users/accounts/accounts.ts'
import { toServerUser } from '../features/users/server/model.ts'
import type { Webhooks } from '../features/webhooks/webhooks.ts'
import type { Tx } from '../platform/db/db.ts'

type AnnouncementsDeps = {
  changes: Pick<Changes, 'record'>
  webhooks: Pick<Webhooks, 'emit'>
  /** The base of public files' URLs. */
  filesUrl: string
}

/** Tells the user's apps and the operator's webhook endpoints what has changed, as part of the change. */
export function createAnnouncements({ changes, webhooks, filesUrl }: AnnouncementsDeps) {
  return { accountChanged, accessChanged, limitReached, fileAdded }

  async function accountChanged(tx: Tx, change: AccountChange) {
    if (change.kind === 'deleted') {
      const { userId, mergedInto } = change
      const data = { userId, mergedInto }
      await webhooks.emit(tx, { type: 'user.deleted', userId, data })
      return
    }
    const { id: userId } = change.account
    if (change.kind === 'updated') await changes.record(tx, userId, 'profile')
    const data = { userId, user: toServerUser(change.account, filesUrl) }
    await webhooks.emit(tx, { type: `user.${change.kind}`, userId, data })
  }

  async function accessChanged(tx: Tx, { explain, ...change }: AccessChange) {
    const { userId } = change
    await changes.record(tx, userId, 'subscription')
    // Rules of settings may name plans.
    if (change.previous.plan !== change.current.plan) await changes.record(tx, userId, 'settings')
    const data = {
      ...change,
      // Only read when an endpoint wants the event.
      get reason() {
        return explain()
      },
    }
    await webhooks.emit(tx, { type: 'subscription.changed', userId, data })
  }

  async function limitReached(tx: Tx, userId: string, reached: LimitReached) {
    const data = { userId, ...reached }
    await webhooks.emit(tx, { type: 'usage.limit_reached', userId, data })
  }

  async function fileAdded(tx: Tx, { userId, ...file }: AddedFile) {
    await webhooks.emit(tx, { type: 'file.added', userId, data: { userId, file } })
  }
}
