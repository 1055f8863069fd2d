import { expect, test } from 'bun:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { createTestApp } from '../../../support/app.ts'
import { deliver, ms, purchase } from '../../../support/billing.ts'

const PATH = '/api/user/subscription/v1'

test('a proof is signed with the published key, and states the active entitlements, the plan and their ends', async () => {
  await using app = await createTestApp()
  app.clock.advance(ms(1) - app.clock.now.getTime())
  const { accessToken, user } = await app.register()
  await deliver(app, purchase(user._id, { price_id: 'price_example_pro_year' }))
  const without = (await app.ask('GET', PATH, { token: accessToken })).json.response
  expect(without.proof).toBeUndefined()
  const path = `${PATH}?proof=true`
  const { proof, ...rest } = (await app.ask('GET', path, { token: accessToken })).json.response
  expect(rest).toEqual(without)
  const { keys } = (await app.ask('GET', '/.well-known/jwks.json')).json
  const currentDate = app.clock.now
  const { payload, protectedHeader } = await jwtVerify(proof, createLocalJWKSet({ keys }), {
    typ: 'access+jwt',
    currentDate,
  })
  expect(payload).toEqual({
    sub: user._id,
    iat: Math.floor(currentDate.getTime() / 1000),
    environment: 'production',
    entitlements: { pro: ms(30) / 1000 },
    plan: { id: rest.plan._id, code: 'pro_year', exp: ms(30) / 1000 },
  })
  expect(Object.keys(protectedHeader.jwk ?? {})).toEqual(['kty', 'crv', 'x', 'y'])
})
