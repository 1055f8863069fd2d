import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jwtVerify } from 'jose'
import { rsaKey } from './rsa-keys.ts'

const EMAIL = 'homeport@example-project.iam.gserviceaccount.com'
const KEY_ID = '0123456789abcdef0123456789abcdef01234567'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const SCOPE = 'https://www.googleapis.com/auth/androidpublisher'
const LIFETIME_SECONDS = 3599

/** A service account: its key file, and Google's token endpoint, which checks assertions as Google does. */
export function createServiceAccount(now: () => Date) {
  const { privateKey, publicKey } = rsaKey(0)
  const keyFile = join(mkdtempSync(join(tmpdir(), 'homeport-play-key-')), 'service-account.json')
  const account = {
    type: 'service_account',
    project_id: 'example-project',
    private_key_id: KEY_ID,
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: EMAIL,
    client_id: '108377442644630383219',
    auth_uri: 'https://accounts.google.com/o/oauth2/auth',
    token_uri: 'https://oauth2.googleapis.com/token',
    auth_provider_x509_cert_url: 'https://www.googleapis.com/oauth2/v1/certs',
    universe_domain: 'googleapis.com',
  }
  writeFileSync(keyFile, JSON.stringify(account, null, 2), { mode: 0o600 })
  /** Access tokens, and when they expire (ms). */
  const accessTokens = new Map<string, number>()
  let tokensIssued = 0
  return { keyFile, issueToken, isAuthorized, revokeAccessTokens, tokensIssued: () => tokensIssued }

  /** The token endpoint at `url`, which is the audience of assertions. */
  async function issueToken(request: Request, url: string): Promise<Response> {
    const form = new URLSearchParams(await request.text())
    if (form.get('grant_type') !== GRANT) return refuse('unsupported_grant_type', 'Invalid grant')
    try {
      await checkAssertion(form.get('assertion') ?? '', url)
    } catch (error) {
      return refuse('invalid_grant', `Invalid JWT: ${(error as Error).message}`)
    }
    const accessToken = `ya29.c.fake-${++tokensIssued}-${crypto.randomUUID()}`
    accessTokens.set(accessToken, now().getTime() + LIFETIME_SECONDS * 1000)
    return Response.json({
      access_token: accessToken,
      expires_in: LIFETIME_SECONDS,
      token_type: 'Bearer',
    })
  }

  async function checkAssertion(assertion: string, audience: string) {
    const { payload, protectedHeader } = await jwtVerify(assertion, publicKey, {
      algorithms: ['RS256'],
      issuer: EMAIL,
      audience,
      currentDate: now(),
      requiredClaims: ['exp', 'iat'],
    })
    const { exp = 0, iat = 0, scope } = payload
    if (protectedHeader.kid !== KEY_ID) throw new Error('unknown private_key_id')
    if (scope !== SCOPE) throw new Error('wrong scope')
    if (exp - iat > 3600) throw new Error('it lives longer than an hour')
    if (iat * 1000 > now().getTime() + 60_000) throw new Error('it is issued in the future')
  }

  function isAuthorized(request: Request): boolean {
    const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? ''
    return (accessTokens.get(token) ?? 0) > now().getTime()
  }

  /** Makes every access token stale, before its time. */
  function revokeAccessTokens() {
    accessTokens.clear()
  }
}

function refuse(error: string, description: string): Response {
  return Response.json({ error, error_description: description }, { status: 400 })
}
