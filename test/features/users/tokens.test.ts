import { expect, test } from 'bun:test'
import { createTokens } from '../../../src/features/users/sessions/tokens.ts'
import { createTestApp } from '../../support/app.ts'

test('an error while looking up the key does not invalidate the token', async () => {
  await using app = await createTestApp()
  const { signingKeys } = app.services
  const { accessToken } = await app.register()
  const tokens = createTokens({
    keys: {
      ...signingKeys,
      findPublic: () => Promise.reject(new Error('the keys cannot be read')),
    },
    refreshKey: new Uint8Array(32),
    issuer: 'homeport',
    audience: 'homeport',
    now: () => app.clock.now,
  })
  await expect(tokens.verifyAccess(accessToken)).rejects.toThrow('the keys cannot be read')
})

test('another process reads the same claims from a token', async () => {
  await using app = await createTestApp()
  const { signingKeys } = app.services
  const settings = { keys: signingKeys, refreshKey: new Uint8Array(32), issuer: 'a', audience: 'b' }
  const create = () => createTokens({ ...settings, now: () => app.clock.now })
  for (const sealed of [true, false]) {
    const claims = { userId: 'user', sessionId: 'session', generation: 3, sealed }
    expect(await create().verifyAccess(create().mintAccess(claims))).toEqual(claims)
  }
})
