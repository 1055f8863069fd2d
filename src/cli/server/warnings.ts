import { type Config, SETTINGS } from '../../config/config.ts'
import type { Settings } from '../../config/setting.ts'
import { describeInsecureStore } from '../../features/attachments/storage/file-settings.ts'
import { describeExamples } from '../../lib/example-content.ts'
import { pickTrue } from '../../lib/text/format.ts'
import type { Services } from '../../server/services.ts'
import { listFolderWarnings } from '../data/data-directory.ts'
import { describeForOperator } from '../unavailable.ts'

/** The problems of the configuration, one sentence each. */
export function listFaults(config: Config): string[] {
  const { webhookTokens, misspelled } = config
  return pickTrue([
    ...misspelled.map(
      ({ name, meant }) => `${name} is not a known variable: did you mean ${meant}?`,
    ),
    ...config.warnings,
    ...listFolderWarnings(config),
    describeInsecureStore(config) ?? false,
    ...listTestSettings(config),
    config.stripeKey?.startsWith('sk_') === true &&
      'STRIPE_API_KEY may do everything in the account: use a restricted key (rk_live_…)',
    !config.rateLimits && 'RATE_LIMITS is off: passwords can be guessed without limit',
    webhookTokens.some(({ length }) => length < 16) &&
      'WEBHOOK_TOKEN is short: use at least 16 random characters',
  ])
}

/** The settings for tests that are set, one sentence each. */
function listTestSettings(config: Config): string[] {
  const values: Record<string, unknown> = config
  const settings = Object.values<Settings>(SETTINGS).flatMap((group) => Object.entries(group))
  return settings.flatMap(([key, { name, meaning, isInternal }]) =>
    isInternal && values[key] !== null ? `${name} is set: ${meaning}` : [],
  )
}

/** The settings that a new installation lacks before it is used in production, one sentence each. */
export async function listMissing(
  config: Config,
  services: Pick<Services, 'settings' | 'plans'>,
): Promise<string[]> {
  return pickTrue([
    ...(await listExamples(services)),
    config.smtpUrl === null && 'SMTP_URL is not set: e-mails are written to DATA_DIR/outbox',
    config.webhookTokens.length === 0 &&
      'WEBHOOK_TOKEN is not set: billing events are refused with 503',
    config.baseUrl === null &&
      'BASE_URL is not set: links in e-mails point to localhost, file URLs to the Host of the request',
  ])
}

/** A database that stops right after the start must not stop the server. */
async function listExamples({ settings, plans }: Pick<Services, 'settings' | 'plans'>) {
  try {
    return describeExamples(await settings.read(), await plans.list())
  } catch (error) {
    return [describeForOperator(error as Error)]
  }
}
