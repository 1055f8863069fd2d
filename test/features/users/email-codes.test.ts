import { describe, expect, test } from 'bun:test'
import { PASSWORD } from '../../support/app.ts'
import { CODE_PATH, codeIn, EMAIL, otherCode, startEmailCodes } from '../../support/email-codes.ts'

const MINUTE = 60_000

describe('a code signs in', () => {
  test('to a new account with a verified address', async () => {
    await using setup = await startEmailCodes()
    const { requestToken, code } = await setup.code()
    const json = { requestToken, code, name: 'Ann' }
    const { status, json: reply } = await setup.app.ask('POST', `${CODE_PATH}/verify`, { json })
    expect([status, reply.code]).toEqual([200, 'ok'])
    expect(reply.response.user).toMatchObject({
      loginType: 'email',
      email: EMAIL,
      emailVerified: true,
      profile: { name: 'Ann' },
    })
  })

  test('in Arabic digits', async () => {
    await using setup = await startEmailCodes()
    const { requestToken, code } = await setup.code()
    const typed = code.replace(/\d/g, (digit) => '٠١٢٣٤٥٦٧٨٩'[+digit] ?? '')
    expect((await setup.verify(requestToken, typed)).status).toBe(200)
  })

  test('to the account that has the address, in any case', async () => {
    await using setup = await startEmailCodes()
    const first = await setup.code()
    const created = await setup.verify(first.requestToken, first.code)
    await setup.request('ANN@example.com')
    const { json } = await setup.request('Ann@Example.com')
    await setup.smtp.next(EMAIL)
    const code = codeIn(await setup.smtp.next(EMAIL))
    const again = await setup.verify(json.response.requestToken, code)
    expect(again.json.response.user._id).toBe(created.json.response.user._id)
  })

  test('and a guest becomes the new account', async () => {
    await using setup = await startEmailCodes()
    const guest = (await setup.app.ask('POST', '/api/auth/guest/v1')).json.response
    const { requestToken, code } = await setup.code()
    const { json } = await setup.verify(requestToken, code, { token: guest.accessToken })
    expect(json.response.user).toMatchObject({ _id: guest.user._id, loginType: 'email' })
  })

  test('and a guest is merged into an existing account', async () => {
    await using setup = await startEmailCodes()
    const first = await setup.code()
    const account = (await setup.verify(first.requestToken, first.code)).json.response.user
    const guest = (await setup.app.ask('POST', '/api/auth/guest/v1')).json.response
    const { requestToken, code } = await setup.code()
    const { json } = await setup.verify(requestToken, code, { token: guest.accessToken })
    expect(json.response.user._id).toBe(account._id)
    expect(await setup.app.services.users.accounts.exists(guest.user._id)).toBe(false)
  })

  test('after the second step if two-factor is on', async () => {
    await using setup = await startEmailCodes()
    const first = await setup.code()
    const { user } = (await setup.verify(first.requestToken, first.code)).json.response
    const { db } = setup.app.services
    await db.write((tx) =>
      tx.update(db.tables.users).set({ twoFactorSince: new Date() }).returning(),
    )
    const { requestToken, code } = await setup.code()
    const { json } = await setup.verify(requestToken, code)
    expect([json.code, json.response.user]).toEqual(['two_factor_required', undefined])
    expect(user._id).toBeString()
  })
})

describe('a code is refused', () => {
  test.each<
    [string, (setup: Awaited<ReturnType<typeof startEmailCodes>>) => Promise<[string, string]>]
  >([
    [
      'when it is wrong',
      async (setup) => {
        const { requestToken, code } = await setup.code()
        return [requestToken, otherCode(code)]
      },
    ],
    [
      'after ten minutes',
      async (setup) => {
        const { requestToken, code } = await setup.code()
        setup.app.clock.advance(10 * MINUTE)
        return [requestToken, code]
      },
    ],
    [
      'the second time',
      async (setup) => {
        const { requestToken, code } = await setup.code()
        expect((await setup.verify(requestToken, code)).status).toBe(200)
        return [requestToken, code]
      },
    ],
    [
      'on a device that requested another code',
      async (setup) => {
        const { code } = await setup.code()
        const stranger = await setup.code('stranger@example.com')
        return [stranger.requestToken, code === stranger.code ? otherCode(code) : code]
      },
    ],
    [
      'without the token of the device',
      async (setup) => {
        const { code } = await setup.code()
        return ['m1qk5vJ0x7t2w9r4c8b6n3z1h5f7d2s4', code]
      },
    ],
    [
      'after five wrong codes',
      async (setup) => {
        const { requestToken, code } = await setup.code()
        for (let at = 0; at < 5; at++) await setup.verify(requestToken, otherCode(code))
        return [requestToken, code]
      },
    ],
    [
      'once the account is secured',
      async (setup) => {
        const { accessToken: token } = await setup.app.register(EMAIL)
        await setup.smtp.next(EMAIL)
        const { directory } = setup.app.services.users
        await directory.setEmailVerified(await directory.find(EMAIL), true)
        const { requestToken, code } = await setup.code()
        const json = { currentPassword: PASSWORD, newPassword: 'another good one' }
        await setup.app.ask('PATCH', '/api/auth/password/v1', { token, json })
        return [requestToken, code]
      },
    ],
  ])('%s', async (_name, attempt) => {
    await using setup = await startEmailCodes()
    const [requestToken, code] = await attempt(setup)
    const { status, json } = await setup.verify(requestToken, code)
    expect([status, json.code, json.message]).toEqual([
      401,
      'invalid_credentials',
      'The code is wrong or has expired. Check it, or request a new one.',
    ])
  })

  test('but not because someone else has requested one for the same address', async () => {
    await using setup = await startEmailCodes()
    const { requestToken, code } = await setup.code()
    await setup.code()
    const typed = ` ${code.slice(0, 3)} ${code.slice(3)} `
    expect((await setup.verify(requestToken, typed)).status).toBe(200)
  })

  test('by all but one of three concurrent requests', async () => {
    await using setup = await startEmailCodes()
    const { requestToken, code } = await setup.code()
    const replies = await Promise.all([
      setup.verify(requestToken, code),
      setup.verify(requestToken, code),
      setup.verify(requestToken, code),
    ])
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 401, 401])
    const { db } = setup.app.services
    expect(await db.read.$count(db.tables.sessions)).toBe(1)
  })

  test('after eight concurrent wrong guesses', async () => {
    await using setup = await startEmailCodes()
    const { requestToken, code } = await setup.code()
    const wrong = Array.from({ length: 8 }, () => setup.verify(requestToken, otherCode(code)))
    const statuses = (await Promise.all(wrong)).map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([401]))
    expect((await setup.verify(requestToken, code)).status).toBe(401)
  })
})

describe('an unverified account', () => {
  test('loses the password and the sessions of the stranger who created it', async () => {
    await using setup = await startEmailCodes()
    const stranger = await setup.app.register(EMAIL)
    await setup.smtp.next(EMAIL)
    const { requestToken, code } = await setup.code()
    const { json } = await setup.verify(requestToken, code)
    expect(json.response.user).toMatchObject({ _id: stranger.user._id, emailVerified: true })
    const token = stranger.accessToken
    expect((await setup.app.ask('GET', '/api/user/profile/v1', { token })).status).toBe(401)
    const login = { json: { email: EMAIL, password: PASSWORD } }
    expect((await setup.app.ask('POST', '/api/auth/login/v1', login)).status).toBe(401)
  })

  test('cannot keep the owner of the mailbox from signing in', async () => {
    await using setup = await startEmailCodes()
    const { accessToken: token } = await setup.app.register(EMAIL)
    await setup.smtp.next(EMAIL)
    const { requestToken, code } = await setup.code()
    const path = '/api/auth/sessions/v1?id=others'
    expect((await setup.app.ask('DELETE', path, { token })).status).toBe(200)
    expect((await setup.verify(requestToken, code)).status).toBe(200)
  })

  test('keeps its password and sessions once the address is verified', async () => {
    await using setup = await startEmailCodes()
    const owner = await setup.app.register(EMAIL)
    await setup.smtp.next(EMAIL)
    await setup.app.services.users.directory.setEmailVerified(
      await setup.app.services.users.directory.find(EMAIL),
      true,
    )
    const { requestToken, code } = await setup.code()
    await setup.verify(requestToken, code)
    const token = owner.accessToken
    expect((await setup.app.ask('GET', '/api/user/profile/v1', { token })).status).toBe(200)
    const login = { json: { email: EMAIL, password: PASSWORD } }
    expect((await setup.app.ask('POST', '/api/auth/login/v1', login)).status).toBe(200)
  })
})

test('a code that could not be e-mailed in time is not sent at all', async () => {
  await using setup = await startEmailCodes()
  setup.smtp.state.failing = true
  await setup.request()
  await setup.app.services.users.outbox.flush()
  setup.smtp.state.failing = false
  setup.app.clock.advance(11 * MINUTE)
  await setup.app.services.users.outbox.flush()
  expect([setup.smtp.mails.length, await setup.app.services.users.outbox.count()]).toEqual([0, 0])
})

test('the e-mail is in the language of the account, or else of the request', async () => {
  await using setup = await startEmailCodes()
  await setup.request(EMAIL, { 'accept-language': 'de' })
  expect((await setup.smtp.next(EMAIL)).text).toContain('Dein Code ist')
  await setup.app.register('bea@example.com', { 'accept-language': 'en' })
  await setup.smtp.next('bea@example.com')
  await setup.request('bea@example.com', { 'accept-language': 'de' })
  expect((await setup.smtp.next('bea@example.com')).text).toContain('Your code is')
})
