/** Alerts without a separate test, each with series that raise it and series that do not. */
export const others: [alert: string, bad: Record<string, string>, good: Record<string, string>][] =
  [
    ['HomeportDown', { 'up{job="homeport"}': '0x120' }, { 'up{job="homeport"}': '1x120' }],
    ['HomeportNotReady', component('storage', 0), component('storage', 1)],
    ['HomeportComponentFailing', component('imageWorker', 0), component('imageWorker', 1)],
    ['HomeportComponentFailing', component('certificate', 0), component('rates', 0)],
    ['HomeportBackupFailing', component('backup', 0), component('backup', 1)],
    // promtool's clock starts at 0.
    [
      'HomeportCertificateExpires',
      gauge('certificate_expiry_timestamp_seconds', 600_000),
      gauge('certificate_expiry_timestamp_seconds', 900_000),
    ],
    ['HomeportInodesLow', gauge('disk_free_inodes', 9_000), gauge('disk_free_inodes', 90_000)],
    ['HomeportFilesUndeletable', gauge('files_undeletable', 1), gauge('files_undeletable', 0)],
    ['HomeportDiskLow', gauge('disk_free_bytes', 5e8), gauge('disk_free_bytes', 5e9)],
    ['HomeportVersionsDiffer', { ...build('0.1.0'), ...build('0.2.0') }, build('0.1.0')],
    ['HomeportErrors', replies('0+1x120', '0+50x120'), replies('0x120', '0+50x120')],
    ['HomeportErrors', replies('0+1x120', '0+50x120'), replies('0x120', '0x120')],
    ['HomeportSlow', durations('0x120'), durations('0+60x120')],
    ['HomeportSignInsRefused', denials('0+90x120'), denials('0+30x120')],
    ['HomeportClockDiffers', gauge('clock_skew_seconds', -1_137), gauge('clock_skew_seconds', 2)],
    ['HomeportMailsWaiting', gauge('mails_waiting', 1), gauge('mails_waiting', 0)],
    [
      'HomeportWebhooksLate',
      gauge('webhook_queue_age_seconds', 600),
      gauge('webhook_queue_age_seconds', 60),
    ],
    [
      'HomeportWebhookDisabled',
      gauge('webhook_endpoints_failed', 1),
      gauge('webhook_endpoints_failed', 0),
    ],
    ['HomeportWebhooksFailing', webhooks('0x120', '0+1x120'), webhooks('0+1x120', '0+5x120')],
    ['HomeportWebhooksFailing', webhooks('0x120', '0+1x120'), webhooks('0x120', '0x120')],
    [
      'HomeportBillingEventsFailed',
      gauge('billing_events_failed', 1),
      gauge('billing_events_failed', 0),
    ],
    [
      'HomeportPaidWithoutAccess',
      gauge('billing_products_unlocking_nothing', 1),
      gauge('billing_products_unlocking_nothing', 0),
    ],
    [
      'HomeportPlayRefused',
      { 'homeport_play_deliveries_total{code="unauthenticated"}': '0+1x120' },
      { 'homeport_play_deliveries_total{code="ok"}': '0+1x120' },
    ],
    [
      'HomeportAppStoreRefused',
      { 'homeport_app_store_deliveries_total{code="forbidden"}': '0+1x120' },
      { 'homeport_app_store_deliveries_total{code="ok"}': '0+1x120' },
    ],
    [
      'HomeportAppStoreSilent',
      gauge('app_store_notification_age_seconds', 260_000),
      gauge('app_store_notification_age_seconds', 250_000),
    ],
    [
      'HomeportAppStoreHistoryOld',
      gauge('app_store_history_lag_seconds', 22_000),
      gauge('app_store_history_lag_seconds', 21_000),
    ],
    [
      'HomeportAppStoreKeyRefused',
      gauge('app_store_key_refused', 1),
      gauge('app_store_key_refused', 0),
    ],
    [
      'HomeportPlayAccountRefused',
      gauge('play_account_refused', 1),
      gauge('play_account_refused', 0),
    ],
    [
      'HomeportPlayUnacknowledged',
      gauge('play_unacknowledged_age_seconds', 87_000),
      gauge('play_unacknowledged_age_seconds', 86_000),
    ],
    [
      'HomeportPlayRefundsSoon',
      gauge('play_unacknowledged_age_seconds', 173_000),
      gauge('play_unacknowledged_age_seconds', 172_000),
    ],
    [
      'HomeportPlaySilent',
      gauge('play_notification_age_seconds', 260_000),
      gauge('play_notification_age_seconds', 250_000),
    ],
    [
      'HomeportPlayQueueLong',
      gauge('play_purchases_waiting', 1_001),
      gauge('play_purchases_waiting', 1_000),
    ],
    [
      'HomeportStripeRefused',
      { 'homeport_stripe_deliveries_total{code="unauthenticated"}': '0+1x120' },
      { 'homeport_stripe_deliveries_total{code="ok"}': '0+1x120' },
    ],
    ['HomeportStripeKeyRefused', gauge('stripe_key_refused', 1), gauge('stripe_key_refused', 0)],
    [
      'HomeportStripeEventsOld',
      gauge('stripe_events_lag_seconds', 22_000),
      gauge('stripe_events_lag_seconds', 21_000),
    ],
    ['HomeportStripeQueueLong', gauge('stripe_waiting', 1_001), gauge('stripe_waiting', 1_000)],
    [
      'HomeportStripeDeletionWaiting',
      gauge('stripe_deletions_waiting', 1),
      gauge('stripe_deletions_waiting', 0),
    ],
    ['HomeportStripeDoubled', gauge('stripe_doubled_users', 1), gauge('stripe_doubled_users', 0)],
    [
      'HomeportStripeRefundedRenewing',
      gauge('stripe_refunded_renewing', 1),
      gauge('stripe_refunded_renewing', 0),
    ],
    [
      'HomeportStripePriceDiffers',
      gauge('stripe_price_problems', 1),
      gauge('stripe_price_problems', 0),
    ],
    ['HomeportRatesOld', gauge('rates_age_seconds', 6e5), gauge('rates_age_seconds', 5e5)],
    ['HomeportBackupOld', {}, gauge('backup_age_seconds', 1e5)],
  ]

function component(name: string, value: number): Record<string, string> {
  return { [`homeport_component_up{component="${name}"}`]: `${value}x120` }
}

function gauge(name: string, value: number): Record<string, string> {
  return { [`homeport_${name}`]: `${value}x120` }
}

function build(version: string): Record<string, string> {
  return { [`homeport_build_info{version="${version}"}`]: '1x120' }
}

function webhooks(delivered: string, refused: string): Record<string, string> {
  const name = 'homeport_webhook_attempts_total'
  return { [`${name}{outcome="delivered"}`]: delivered, [`${name}{outcome="refused"}`]: refused }
}

function replies(bad: string, good: string): Record<string, string> {
  const name = 'homeport_http_replies_total'
  return { [`${name}{class="5xx"}`]: bad, [`${name}{class="2xx"}`]: good }
}

function durations(fast: string): Record<string, string> {
  const name = 'homeport_http_request_duration_seconds'
  const route = 'route="/api/user/profile/v1"'
  return { [`${name}_bucket{${route},le="0.5"}`]: fast, [`${name}_count{${route}}`]: '0+60x120' }
}

function denials(wrong: string): Record<string, string> {
  return { 'homeport_denials_total{reason="wrong_password"}': wrong }
}
