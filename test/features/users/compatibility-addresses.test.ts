import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { isNormalAddress } from '../../../src/lib/text/email-address.ts'
import { createTestApp } from '../../support/app.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'

const VICTIM = 'victim@acme.test'
/** Other spellings of the victim's address, which another provider may give to someone else. */
const LOOKALIKES = [
  'victim＠acme.test',
  'ｖictim@acme.test',
  'victim﹫acme.test',
  'ⓥictim@acme.test',
  '𝐯ictim@acme.test',
  'vi\u{fb00}@acme.test',
  'vi\u{212a}@acme.test',
  'vict\u{2170}m@acme.test',
  'victim@ａcme.test',
  'victim@acme。test',
  'victim@acme．test',
  'victim@ac\u{00ad}me.test',
  'victim@acme\u{fe0f}.test',
  'victim@acme.test.',
]

let identityProvider: Awaited<ReturnType<typeof startIdentityProvider>>

beforeAll(async () => {
  identityProvider = await startIdentityProvider()
})
afterAll(() => identityProvider[Symbol.dispose]())

describe('an address that an identity provider reports as verified', () => {
  test.each(LOOKALIKES)('does not open the account that it resembles: %j', async (email) => {
    expect(isNormalAddress(email)).toBe(false)
    const { providers, openId } = identityProvider
    await using app = await createTestApp(openId, { providers })
    const victim = await app.register(VICTIM)
    await app.verifyEmail(VICTIM)
    for (const provider of ['apple', 'google', 'oidc'] as const) {
      const claims = { sub: `sub ${provider}`, email, email_verified: true, hd: 'acme.test' }
      const idToken = await identityProvider.mint(provider, claims, { at: app.clock.now })
      const { status, json } = await app.ask('POST', '/api/auth/social/v1', {
        json: { provider, idToken },
      })
      expect(status).toBe(200)
      expect(json.response.user._id).not.toBe(victim.user._id)
      expect(json.response.user.emailVerified).toBe(false)
    }
  })

  test.each([
    'Victim@ACME.test',
    'victim+news@acme.test',
    'jürgen@acme.test',
    'ju\u0308rgen@acme.test',
    'ann@exämple.test',
    'ann@EXÄMPLE.test',
    'ann@xn--exmple-cua.test',
    'ann@straße.test',
    '用户@例え.test',
  ])('counts as verified: %j', (email) => {
    expect(isNormalAddress(email)).toBe(true)
  })
})
