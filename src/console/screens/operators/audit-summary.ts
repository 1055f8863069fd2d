import type { Difference } from '../../../lib/text/differences.ts'
import { changeLabel } from '../../editing/field-labels.ts'
import { isIsoTime, plural, time, value } from '../../format.ts'

/** What an operator did, by the action's code; the target follows. */
const ACTIONS: Record<string, string> = {
  'access.grant': 'Granted access to',
  'access.revoke': 'Revoked access of',
  'alerts.set': 'Changed alert',
  'alerts.test': 'Sent a test alert',
  'api-keys.create': 'Created API key',
  'api-keys.revoke': 'Revoked API key',
  'audit.export': 'Exported the audit log',
  'backups.download': 'Downloaded backup',
  'backups.make': 'Created backup',
  'backups.verify': 'Verified backup',
  'deliveries.resend': 'Resent webhook delivery',
  'events.rebuild': 'Rebuilt purchases from events',
  'events.reconcile': 'Refreshed purchases of',
  'events.replay': 'Replayed event',
  'events.replay-many': 'Replayed events',
  'events.retry': 'Retried failed events',
  'faqs.import': 'Imported FAQs',
  'faqs.publish': 'Published FAQs',
  'faqs.rollback': 'Rolled back FAQs',
  'files.delete': 'Deleted a file of',
  'files.open': 'Opened a file of',
  'keys.rotate': 'Rotated key',
  'operators.add': 'Added operator',
  'operators.add-passkey': 'Added a passkey',
  'operators.end-session': 'Ended one of their sessions',
  'operators.proof': 'Confirmed identity',
  'operators.proof-failed': 'Failed to confirm identity',
  'operators.remove': 'Removed operator',
  'operators.remove-passkey': 'Removed passkey',
  'operators.reset': 'Reset sign-in of operator',
  'operators.change-role': 'Changed role of operator',
  'operators.set-up': 'Set up sign-in',
  'operators.sign-in': 'Signed in',
  'operators.sign-in-failed': 'Failed to sign in',
  'operators.sign-out': 'Signed out',
  'plans.archive': 'Archived plan',
  'plans.import': 'Imported plans',
  'plans.publish': 'Published plans',
  'plans.rollback': 'Rolled back plans',
  'purchases.answer-refund': 'Answered the refund request for purchase',
  'purchases.ask': 'Asked the store about purchase',
  'purchases.give': 'Linked purchase',
  'purchases.take-back': 'Undid the link of purchase',
  'rates.refresh': 'Refreshed currency rates',
  'settings.import': 'Imported settings',
  'settings.publish': 'Published settings',
  'settings.rollback': 'Rolled back settings',
  'settings.set': 'Changed settings',
  'settings.unset': 'Removed settings',
  'stores.test': 'Requested a test notification',
  'users.add-note': 'Added a note to',
  'users.change': 'Changed user',
  'users.create': 'Created user',
  'users.delete': 'Deleted user',
  'users.delete-note': 'Deleted a note of',
  'users.end-session': 'Ended a session of',
  'users.export': 'Exported data of',
  'users.import': 'Imported users',
  'users.invite': 'Invited user',
  'users.reset-two-factor': 'Reset two-factor of',
  'users.send-verification': 'Sent a verification e-mail to',
  'users.sign-out': 'Signed out user',
  'users.verify': 'Verified the e-mail of',
  'webhooks.add': 'Added webhook endpoint',
  'webhooks.change': 'Changed webhook endpoint',
  'webhooks.disable': 'Disabled webhook endpoint',
  'webhooks.enable': 'Enabled webhook endpoint',
  'webhooks.remove': 'Removed webhook endpoint',
  'webhooks.resend-failed': 'Resent failed deliveries of webhook endpoint',
  'webhooks.rotate': 'Rotated the secret of webhook endpoint',
  'webhooks.test': 'Sent a test event to webhook endpoint',
}

/** Words for an action, which is `user.verify` in the console and `user verify` as a command. Others keep their code. */
export function actionName(action: string): string {
  const code = action.replace(' ', '.')
  const [, list] = /^(.+)\.export(?:-csv)?$/.exec(code) ?? []
  return ACTIONS[code] ?? (list === undefined ? action : `Exported ${list}`)
}

/** The actions to choose from, in words; `current` may be another. */
export function actionOptions(current = ''): [action: string, name: string][] {
  const codes = new Set([...Object.keys(ACTIONS), ...(current === '' ? [] : [current])])
  // A command may have the same words as an action of the console.
  const byName = new Map(
    [...codes].map((code) => [actionName(code).replace(/ (of|to|for)$/, ''), code]),
  )
  return [...byName]
    .map(([name, code]): [string, string] => [code, name])
    .toSorted(([, one], [, other]) => one.localeCompare(other))
}

const MAX_SUMMARY_LENGTH = 80

/** A single short change, such as `Hard paywall: no → yes`; the names of several. */
export function summarizeChanges(changes: Difference[]): string {
  const names = changes.map(({ path }) => changeLabel(path))
  const [change] = changes
  const full =
    change &&
    `${names[0]}: ${change.before === null ? '' : `${text(change.before)} → `}${text(change.after)}`
  if (full && changes.length === 1 && full.length <= MAX_SUMMARY_LENGTH) return full
  const list = names.join(', ')
  return list.length <= MAX_SUMMARY_LENGTH ? list : plural(changes.length, 'change')
}

function text(input: unknown): string {
  return isIsoTime(input) ? time(input) : value(input)
}
