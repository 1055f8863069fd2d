import type { ConditionList } from '../../platform/conditions/condition.ts'
import { highest, refusedDeliveries } from '../../platform/conditions/measure.ts'
import { gauge, type MetricList } from '../../platform/metrics/metrics.ts'
import type { Registry } from '../../platform/metrics/registry.ts'
import { countDeliveries } from '../../platform/metrics/request-metrics.ts'
import { DELIVERY_CODES } from '../billing/model.ts'
import { APP_STORE_PATH, PLAY_PATH } from './model.ts'
import type { Stores } from './stores.ts'

type Needs = { stores: Stores; registry: Registry }

const REFUSED = 'malformed_request|unauthenticated|forbidden|unavailable|webhook_not_configured'
const HOURS = { per: 3_600 }

export const storeMetrics: MetricList<Needs> = {
  homeport_app_store_deliveries_total: countDeliveries(
    'Notifications from the App Store, by response code',
    APP_STORE_PATH,
    [...DELIVERY_CODES, 'forbidden'],
  ),
  homeport_app_store_notification_age_seconds: gauge(
    'Time since the last notification of each app, in production; absent while no purchase is due to renew or end, and before the first one',
    ({ stores }) => stores.health.notificationAges(),
    'app',
  ),
  homeport_app_store_history_lag_seconds: gauge(
    "How far behind Homeport is in reading Apple's notification history, per app, in production; absent without a key",
    ({ stores }) => stores.health.historyLags(),
    'app',
  ),
  homeport_app_store_key_refused: gauge(
    '1 when Apple refused the API key at the last call; absent without a key, and while no purchase in production is due to be checked',
    ({ stores }) => stores.health.isKeyRefused(),
  ),
  homeport_play_deliveries_total: countDeliveries(
    'Notifications from Google Play, by response code',
    PLAY_PATH,
    DELIVERY_CODES,
  ),
  homeport_play_notification_age_seconds: gauge(
    'Time since the last notification of each app from Google Play; absent before the first one',
    ({ stores }) => stores.health.playNotificationAges(),
    'app',
  ),
  homeport_play_account_refused: gauge(
    '1 when Google refused the service account at the last call',
    ({ stores }) => stores.play?.store.isKeyRefused() ?? null,
  ),
  homeport_play_purchases_waiting: gauge(
    'Purchases due to be refreshed from Google',
    async ({ stores }) => (await stores.play?.purchases.countDue()) ?? null,
  ),
  homeport_play_unacknowledged_age_seconds: gauge(
    'Age of the oldest purchase that is not acknowledged; Google refunds it after three days',
    ({ stores }) => stores.health.unacknowledgedAge(),
  ),
}

export const storeConditions: ConditionList = {
  'app-store-refused': {
    title: 'Notifications from the App Store are refused',
    advice:
      'Code forbidden: the app is not in APP_STORE_APPS. Code malformed_request: choose version 2 of the notifications in App Store Connect. Code unauthenticated: Apple has not signed them.',
    severity: 'page',
    measure: refusedDeliveries('homeport_app_store_deliveries_total', REFUSED),
    limit: { above: 10, unit: 'in two hours' },
  },
  'app-store-silent': {
    title: 'The App Store has not sent a notification',
    advice: '"homeport stores test" makes Apple send one and reports the result.',
    severity: 'warn',
    measure: highest('homeport_app_store_notification_age_seconds', HOURS),
    limit: { above: 72, unit: 'hours' },
  },
  'app-store-history-old': {
    title: 'The history of the App Store has not been read',
    advice: 'Lost notifications are not found. "homeport stores check" says why.',
    severity: 'warn',
    measure: highest('homeport_app_store_history_lag_seconds', HOURS),
    limit: { above: 6, unit: 'hours' },
  },
  'app-store-key-refused': {
    title: 'Apple refuses the API key',
    advice: '"homeport stores check" says what to check.',
    severity: 'page',
    minutes: 30,
    measure: highest('homeport_app_store_key_refused'),
    limit: { above: 0 },
  },
  'play-refused': {
    title: 'Notifications from Google Play are refused',
    advice: '"homeport stores check" says why. Pub/Sub retries them for seven days.',
    severity: 'page',
    measure: refusedDeliveries('homeport_play_deliveries_total', REFUSED),
    limit: { above: 10, unit: 'in two hours' },
  },
  'play-account-refused': {
    title: 'Google refuses the service account',
    advice:
      'Purchases are not acknowledged meanwhile, and Google refunds them after three days. Run "homeport stores check".',
    severity: 'page',
    minutes: 30,
    measure: highest('homeport_play_account_refused'),
    limit: { above: 0 },
  },
  'play-unacknowledged': {
    title: 'A purchase on Google Play is not acknowledged',
    advice:
      'Google refunds it after three days. "homeport purchases list --unacknowledged" lists such purchases.',
    severity: 'warn',
    measure: highest('homeport_play_unacknowledged_age_seconds', HOURS),
    limit: { above: 24, unit: 'hours' },
  },
  'play-refunds-soon': {
    title: 'Google will soon refund a purchase',
    advice:
      '"homeport purchases list --unacknowledged" lists such purchases. Check PLAY_ACKNOWLEDGE.',
    severity: 'page',
    measure: highest('homeport_play_unacknowledged_age_seconds', HOURS),
    limit: { above: 48, unit: 'hours' },
  },
  'play-silent': {
    title: 'Google Play has not sent a notification',
    advice: 'Send a test notification in the Play Console. An app with few purchases may be quiet.',
    severity: 'warn',
    measure: highest('homeport_play_notification_age_seconds', HOURS),
    limit: { above: 72, unit: 'hours' },
  },
  'play-queue-long': {
    title: 'Many purchases are waiting for Google',
    advice: 'Google is busy or limits requests: the log says which.',
    severity: 'warn',
    minutes: 30,
    measure: highest('homeport_play_purchases_waiting'),
    limit: { above: 1_000, unit: 'purchases' },
  },
}
