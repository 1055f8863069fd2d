import type { Config } from '../../config/config.ts'
import { describeInsecureStore } from '../../features/attachments/storage/file-settings.ts'
import { describeExamples } from '../../lib/example-content.ts'
import type { Services } from '../../server/services.ts'
import { listFolderWarnings } from '../data/data-directory.ts'
import { describeForOperator } from '../unavailable.ts'

/** The problems of the configuration, one sentence each. */
export function listFaults(config: Config): string[] {
  const { webhookTokens, misspelled } = config
  const exposed = describeInsecureStore(config)
  const cases: [isFault: boolean, sentence: string][] = [
    [
      config.appStoreRoot !== null,
      'APP_STORE_ROOT_FILE is set: purchases need not be signed by Apple',
    ],
    [
      config.appStoreApiUrl !== null,
      'APP_STORE_API_URL is set: purchases are not checked with Apple',
    ],
    [config.playApiUrl !== null, 'PLAY_API_URL is set: purchases are not checked with Google'],
    [
      config.playTokenUrl !== null,
      'PLAY_TOKEN_URL is set: Google does not issue the access tokens',
    ],
    [config.playJwksUrl !== null, 'PLAY_JWKS_URL is set: notifications need not come from Google'],
    [config.stripeApiUrl !== null, 'STRIPE_API_URL is set: purchases are not checked with Stripe'],
    [
      config.stripeKey?.startsWith('sk_') === true,
      'STRIPE_API_KEY may do everything in the account: use a restricted key (rk_live_…)',
    ],
    [!config.rateLimits, 'RATE_LIMITS is off: passwords can be guessed without limit'],
    [
      webhookTokens.some(({ length }) => length < 16),
      'WEBHOOK_TOKEN is short: use at least 16 random characters',
    ],
  ]
  return [
    ...misspelled.map(
      ({ name, meant }) => `${name} is not a known variable: did you mean ${meant}?`,
    ),
    ...config.warnings,
    ...listFolderWarnings(config),
    ...(exposed === null ? [] : [exposed]),
    ...cases.flatMap(([isFault, sentence]) => (isFault ? sentence : [])),
  ]
}

/** The settings that a new installation lacks before it is used in production, one sentence each. */
export async function listMissing(
  config: Config,
  services: Pick<Services, 'settings' | 'plans'>,
): Promise<string[]> {
  const cases: [isMissing: boolean, sentence: string][] = [
    [config.smtpUrl === null, 'SMTP_URL is not set: e-mails are written to DATA_DIR/outbox'],
    [
      config.webhookTokens.length === 0,
      'WEBHOOK_TOKEN is not set: billing events are refused with 503',
    ],
    [
      config.baseUrl === null,
      'BASE_URL is not set: links in e-mails point to localhost, file URLs to the Host of the request',
    ],
  ]
  const examples = await listExamples(services)
  return [...examples, ...cases.flatMap(([isMissing, sentence]) => (isMissing ? sentence : []))]
}

/** A database that stops right after the start must not stop the server. */
async function listExamples({ settings, plans }: Pick<Services, 'settings' | 'plans'>) {
  try {
    return describeExamples(await settings.read(), await plans.list())
  } catch (error) {
    return [describeForOperator(error as Error)]
  }
}
