import { createClient, type Storage } from '../../src/client/client.ts'

/** A typical first session of an app, on any platform. Returns the results of its steps. */
export async function journey(baseUrl: string, env: string, storage: Storage) {
  const client = createClient({ baseUrl, env, storage, device: 'canary-device' })
  const email = `canary-${env}@example.com`
  const login = { email, password: 'canary-password' }
  const registered = await client.register({ ...login, name: 'canary-name' })
  const progress: number[] = []
  // Larger than one packet, so that progress is reported.
  const data = new TextEncoder().encode('canary-content '.repeat(100_000))
  const [stored] = await client.uploadAttachments({
    type: 'supportTicket',
    files: [{ name: 'canary.txt', type: 'text/plain', data }],
    onProgress: ({ sent, total }) => progress.push(sent / total),
  })
  const { size } = await client.readAttachment({ key: stored?.key ?? '' })
  const subscription = await client.readSubscription()
  const { profile } = await client.changeProfile({ profile: { currency: 'EUR' } })
  const wrong = await client.login({ ...login, password: 'canary-wrong' }).catch(({ code }) => code)
  // The same storage in a new client: the app was closed and opened again.
  const restarted = createClient({ baseUrl, env, storage })
  await restarted.refresh()
  const { name } = (await restarted.readProfile()).profile
  return {
    isSignedIn: 'accessToken' in registered,
    size,
    progress,
    entitlements: subscription.entitlements,
    currency: profile.currency,
    wrong,
    name,
    plans: (await restarted.readPricingPlans()).length,
  }
}
