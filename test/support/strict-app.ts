import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** An app that passes `undefined` for each optional input, and the browser's own passkeys. */
const STRICT_APP = `
import { type ClientOptions, createClient, isUpdateRequired, type ProfileChanges } from 'homeport-client'
import { addPasskey, signInWithPasskey } from 'homeport-client/passkeys'

const nothing = undefined
const settings: ClientOptions = {
  baseUrl: 'https://api.example.com',
  env: nothing,
  pinnedKeys: nothing,
  signingKeys: nothing,
  storage: nothing,
  offlineStorage: nothing,
  device: nothing,
  app: nothing,
  language: nothing,
  timeout: nothing,
  onSignedOut: nothing,
  fetch: nothing,
  now: nothing,
}
const api = createClient(settings)
const app = { platform: 'ios', version: '1.0', buildNumber: nothing, deviceId: nothing } as const
createClient({ ...settings, app })
const email = 'ann@example.com'
const password = 'correct horse battery'
const code = nothing
const name = nothing
const call = { signal: nothing, timeout: nothing }

export async function sendNothing(): Promise<void> {
  await api.register({ email, password, name, invitation: nothing }, call)
  await api.signInWithEmailCode({ requestToken: '', code: '', name })
  const apple = { authorizationCode: nothing, redirectUri: nothing }
  await api.signInSocially({ provider: 'apple', idToken: '', nonce: nothing, name, code, ...apple })
  await api.changePassword({ currentPassword: password, newPassword: password, code })
  await api.changeEmail({ password: nothing, email, code })
  await api.unlinkProvider({ provider: 'google', code })
  await api.setUpTwoFactor({ password: nothing })
  await api.renewRecoveryCodes({ password: nothing, code: '' })
  await api.disableTwoFactor({ password: nothing, code: '' })
  const profile = { name, locale: nothing, timezone: nothing, currency: nothing, avatarKey: nothing }
  const changes: ProfileChanges = { profile, onboardingCompleted: nothing }
  await api.changeProfile(changes)
  await api.changeProfile({ profile: nothing })
  await api.replaceData({}, { version: nothing })
  await api.patchData({}, { version: nothing })
  await api.syncData({ storage: nothing, merge: nothing })
  await api.uploadAttachments({
    type: 'publicAsset',
    files: [{ uri: '', name: '', type: nothing }, { data: new Uint8Array(), name: '', type: nothing }],
    compression: nothing,
    targetType: nothing,
    idempotencyKey: nothing,
    onProgress: nothing,
  })
  await api.listAttachments({ limit: nothing, after: nothing })
  await api.readSubscription({ environment: nothing, proof: nothing, lang: nothing })
  await api.queuePurchase({ store: 'app_store', signedTransaction: '' })
  api.onPurchaseResult(({ purchase, result }) => console.log(purchase.store, result.outcome))()
  await api.submitPurchases({
    purchases: [
      { store: 'play_store', packageName: '', purchaseToken: '', productId: nothing, kind: nothing },
      { store: 'app_store', signedTransaction: '' },
    ],
    takeOver: nothing,
    environment: nothing,
  })
  await api.readPricingPlans({ lang: nothing })
  await api.readFaqs({ lang: nothing })
  await api.readKept('plans', { lang: nothing })
  await addPasskey(api, { name, password: nothing, code })
  await signInWithPasskey(api, { isInForm: nothing, signal: nothing })
  isUpdateRequired(await api.readAppSettings(), app)
}

/** Without \`homeport-client/passkeys\`, in browsers that convert passkeys themselves. */
export async function usePasskeys(): Promise<void> {
  const creation = await api.startPasskeyRegistration({ password: nothing, code })
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(creation)
  const created = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential
  const passkey = await api.addPasskey({ credential: created.toJSON(), name })
  const request = PublicKeyCredential.parseRequestOptionsFromJSON(await api.startPasskeySignIn())
  const found = await navigator.credentials.get({ publicKey: request })
  await api.signInWithPasskey({ credential: (found as PublicKeyCredential).toJSON() })
  await api.removePasskey({ id: passkey._id, code })
}

/** As libraries describe a passkey. */
export async function addFromLibrary(device: { id: string; type: string; attachment?: string }) {
  const { id, type, attachment } = device
  const response = { clientDataJSON: '', attestationObject: '', transports: nothing }
  const extras = { authenticatorAttachment: attachment, clientExtensionResults: nothing }
  await api.addPasskey({ credential: { id, rawId: id, type, response, ...extras } })
  const signed = { clientDataJSON: '', authenticatorData: '', signature: '', userHandle: nothing }
  await api.signInWithPasskey({ credential: { id, rawId: id, type, response: signed, ...extras } })
}
`

/** The compiler's output for that app with the strictest settings. */
export async function compileStrictApp(app: string, tsc: string): Promise<string> {
  const folder = join(app, 'strict')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'app.mts'), STRICT_APP)
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    skipLibCheck: false,
    noEmit: true,
    target: 'ES2022',
    lib: ['ES2022', 'DOM'],
    types: [],
    module: 'NodeNext',
  }
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['app.mts'] }),
  )
  const { stdout, stderr } = Bun.spawnSync([process.execPath, tsc, '-p', folder], { cwd: app })
  return stdout.toString() + stderr.toString()
}
