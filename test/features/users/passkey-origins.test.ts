import { expect, test } from 'bun:test'
import { checkPasskeys } from '../../../src/cli/doctor/local-checks.ts'
import type { TestApp } from '../../support/app.ts'
import { createApp, EMAIL, ORIGIN, PASSKEY_PATH } from '../../support/passkey-requests.ts'

const APP = 'https://app.example.com'
const OTHER_PORT = 'https://api.example.com:8443'

/** Requests the options for a sign-in and for a new passkey, as a page of `origin` does. */
async function askFrom(app: TestApp, token: string, origin: string | null) {
  const headers = origin === null ? {} : { origin }
  const replies = [
    await app.ask('POST', `${PASSKEY_PATH}/sign_in/options`, { headers }),
    await app.ask('POST', `${PASSKEY_PATH}/options`, { token, headers, json: {} }),
  ]
  return replies.map(({ status, json }) => `${status} ${json.code}`)
}

test('a page gets no options for passkeys that the server would refuse', async () => {
  await using app = await createApp({ PASSKEY_ORIGINS: APP })
  const { accessToken } = await app.register(EMAIL)
  expect(checkPasskeys(await app.services.serverState()).state).toBe('ok')
  for (const origin of [OTHER_PORT, OTHER_PORT, 'http://api.example.com'])
    expect(await askFrom(app, accessToken, origin)).toEqual([
      '403 wrong_origin',
      '403 wrong_origin',
    ])
  const accepted = [ORIGIN, APP]
  const line = await app.logged({ reason: 'wrong_origin', origin: OTHER_PORT })
  expect(line).toMatchObject({ accepted, msg: expect.stringContaining('PASSKEY_ORIGINS') })
  const once = app.lines.filter((text) => text.includes('"reason":"wrong_origin"'))
  expect(once).toHaveLength(2)
  expect(checkPasskeys(await app.services.serverState())).toEqual({
    state: 'warning',
    detail: `wrong_origin: pages at http://api.example.com were not allowed to use passkeys; accepted: ${ORIGIN}, ${APP}`,
    advice: 'If it is your web app, add it to PASSKEY_ORIGINS and restart.',
  })
})

test('accepted pages and apps get options', async () => {
  await using app = await createApp({ PASSKEY_ORIGINS: APP })
  const { accessToken } = await app.register(EMAIL)
  for (const origin of [ORIGIN, APP, null, 'capacitor://localhost'])
    expect(await askFrom(app, accessToken, origin)).toEqual(['200 ok', '200 ok'])
})
