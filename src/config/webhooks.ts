import { mailboxOf, trimAddress } from '../lib/text/email-address.ts'
import type { SettingsReader } from './define-setting.ts'

/** Settings of outgoing webhooks, and of alerts about them. */
export function readWebhooks({ optional, isOn }: SettingsReader) {
  return {
    /** Receives e-mails about problems that an operator must solve. */
    alertEmail: optional(
      'ALERT_EMAIL',
      'an address such as ops@example.com',
      (text) => mailboxOf(trimAddress(text)) ?? undefined,
    ),
    /** Webhooks may also go to private addresses, and over http. */
    webhooksAllowPrivate: isOn('WEBHOOKS_ALLOW_PRIVATE', false),
  }
}
