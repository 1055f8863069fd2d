import { describe, expect, test } from 'bun:test'
import { PASSWORD } from '../../support/app.ts'
import { CODE_PATH, codeIn, EMAIL, otherCode, startEmailCodes } from '../../support/email-codes.ts'

const MINUTE = 60_000

describe('a code signs in', () => {
  test('to a new account with a verified address', async () => {
    await using it = await startEmailCodes()
    const { requestToken, code } = await it.code()
    const json = { requestToken, code, name: 'Ann' }
    const { status, json: reply } = await it.app.ask('POST', `${CODE_PATH}/verify`, { json })
    expect([status, reply.code]).toEqual([200, 'ok'])
    expect(reply.response.user).toMatchObject({
      loginType: 'email',
      email: EMAIL,
      emailVerified: true,
      profile: { name: 'Ann' },
    })
  })

  test('in Arabic digits', async () => {
    await using it = await startEmailCodes()
    const { requestToken, code } = await it.code()
    const typed = code.replace(/\d/g, (digit) => '٠١٢٣٤٥٦٧٨٩'[+digit] ?? '')
    expect((await it.verify(requestToken, typed)).status).toBe(200)
  })

  test('to the account that has the address, in any case', async () => {
    await using it = await startEmailCodes()
    const first = await it.code()
    const created = await it.verify(first.requestToken, first.code)
    await it.request('ANN@example.com')
    const { json } = await it.request('Ann@Example.com')
    await it.smtp.next(EMAIL)
    const code = codeIn(await it.smtp.next(EMAIL))
    const again = await it.verify(json.response.requestToken, code)
    expect(again.json.response.user._id).toBe(created.json.response.user._id)
  })

  test('and a guest becomes the new account', async () => {
    await using it = await startEmailCodes()
    const guest = (await it.app.ask('POST', '/api/auth/guest/v1')).json.response
    const { requestToken, code } = await it.code()
    const { json } = await it.verify(requestToken, code, { token: guest.accessToken })
    expect(json.response.user).toMatchObject({ _id: guest.user._id, loginType: 'email' })
  })

  test('and a guest is merged into an existing account', async () => {
    await using it = await startEmailCodes()
    const first = await it.code()
    const account = (await it.verify(first.requestToken, first.code)).json.response.user
    const guest = (await it.app.ask('POST', '/api/auth/guest/v1')).json.response
    const { requestToken, code } = await it.code()
    const { json } = await it.verify(requestToken, code, { token: guest.accessToken })
    expect(json.response.user._id).toBe(account._id)
    expect(await it.app.services.users.accounts.exists(guest.user._id)).toBe(false)
  })

  test('after the second step if two-factor is on', async () => {
    await using it = await startEmailCodes()
    const first = await it.code()
    const { user } = (await it.verify(first.requestToken, first.code)).json.response
    const { db } = it.app.services
    await db.write((tx) =>
      tx.update(db.tables.users).set({ twoFactorSince: new Date() }).returning(),
    )
    const { requestToken, code } = await it.code()
    const { json } = await it.verify(requestToken, code)
    expect([json.code, json.response.user]).toEqual(['two_factor_required', undefined])
    expect(user._id).toBeString()
  })
})

describe('a code is refused', () => {
  test.each<
    [string, (it: Awaited<ReturnType<typeof startEmailCodes>>) => Promise<[string, string]>]
  >([
    [
      'when it is wrong',
      async (it) => {
        const { requestToken, code } = await it.code()
        return [requestToken, otherCode(code)]
      },
    ],
    [
      'after ten minutes',
      async (it) => {
        const { requestToken, code } = await it.code()
        it.app.clock.advance(10 * MINUTE)
        return [requestToken, code]
      },
    ],
    [
      'the second time',
      async (it) => {
        const { requestToken, code } = await it.code()
        expect((await it.verify(requestToken, code)).status).toBe(200)
        return [requestToken, code]
      },
    ],
    [
      'on a device that asked for another one',
      async (it) => {
        const { code } = await it.code()
        const stranger = await it.code('stranger@example.com')
        return [stranger.requestToken, code === stranger.code ? otherCode(code) : code]
      },
    ],
    [
      'without the token of the device',
      async (it) => {
        const { code } = await it.code()
        return ['m1qk5vJ0x7t2w9r4c8b6n3z1h5f7d2s4', code]
      },
    ],
    [
      'after five wrong ones',
      async (it) => {
        const { requestToken, code } = await it.code()
        for (let at = 0; at < 5; at++) await it.verify(requestToken, otherCode(code))
        return [requestToken, code]
      },
    ],
    [
      'once the account is secured',
      async (it) => {
        const { accessToken: token } = await it.app.register(EMAIL)
        await it.smtp.next(EMAIL)
        const { directory } = it.app.services.users
        await directory.setEmailVerified(await directory.find(EMAIL), true)
        const { requestToken, code } = await it.code()
        const json = { currentPassword: PASSWORD, newPassword: 'another good one' }
        await it.app.ask('PATCH', '/api/auth/password/v1', { token, json })
        return [requestToken, code]
      },
    ],
  ])('%s', async (_name, attempt) => {
    await using it = await startEmailCodes()
    const [requestToken, code] = await attempt(it)
    const { status, json } = await it.verify(requestToken, code)
    expect([status, json.code, json.message]).toEqual([
      401,
      'invalid_credentials',
      'The code is wrong or has expired. Check it, or request a new one.',
    ])
  })

  test('but not because someone else has requested one for the same address', async () => {
    await using it = await startEmailCodes()
    const { requestToken, code } = await it.code()
    await it.code()
    const typed = ` ${code.slice(0, 3)} ${code.slice(3)} `
    expect((await it.verify(requestToken, typed)).status).toBe(200)
  })

  test('by all but one of two requests at once', async () => {
    await using it = await startEmailCodes()
    const { requestToken, code } = await it.code()
    const replies = await Promise.all([
      it.verify(requestToken, code),
      it.verify(requestToken, code),
      it.verify(requestToken, code),
    ])
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 401, 401])
    const { db } = it.app.services
    expect(await db.read.$count(db.tables.sessions)).toBe(1)
  })

  test('after eight wrong guesses at once', async () => {
    await using it = await startEmailCodes()
    const { requestToken, code } = await it.code()
    const wrong = Array.from({ length: 8 }, () => it.verify(requestToken, otherCode(code)))
    const statuses = (await Promise.all(wrong)).map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([401]))
    expect((await it.verify(requestToken, code)).status).toBe(401)
  })
})

describe('an unverified account', () => {
  test('loses the password and the sessions of the stranger who created it', async () => {
    await using it = await startEmailCodes()
    const stranger = await it.app.register(EMAIL)
    await it.smtp.next(EMAIL)
    const { requestToken, code } = await it.code()
    const { json } = await it.verify(requestToken, code)
    expect(json.response.user).toMatchObject({ _id: stranger.user._id, emailVerified: true })
    const token = stranger.accessToken
    expect((await it.app.ask('GET', '/api/user/profile/v1', { token })).status).toBe(401)
    const login = { json: { email: EMAIL, password: PASSWORD } }
    expect((await it.app.ask('POST', '/api/auth/login/v1', login)).status).toBe(401)
  })

  test('cannot keep the owner of the mailbox from signing in', async () => {
    await using it = await startEmailCodes()
    const { accessToken: token } = await it.app.register(EMAIL)
    await it.smtp.next(EMAIL)
    const { requestToken, code } = await it.code()
    const path = '/api/auth/sessions/v1?id=others'
    expect((await it.app.ask('DELETE', path, { token })).status).toBe(200)
    expect((await it.verify(requestToken, code)).status).toBe(200)
  })

  test('keeps both once the address is verified', async () => {
    await using it = await startEmailCodes()
    const owner = await it.app.register(EMAIL)
    await it.smtp.next(EMAIL)
    await it.app.services.users.directory.setEmailVerified(
      await it.app.services.users.directory.find(EMAIL),
      true,
    )
    const { requestToken, code } = await it.code()
    await it.verify(requestToken, code)
    const token = owner.accessToken
    expect((await it.app.ask('GET', '/api/user/profile/v1', { token })).status).toBe(200)
    const login = { json: { email: EMAIL, password: PASSWORD } }
    expect((await it.app.ask('POST', '/api/auth/login/v1', login)).status).toBe(200)
  })
})

test('a code that could not be e-mailed in time is not sent at all', async () => {
  await using it = await startEmailCodes()
  it.smtp.state.failing = true
  await it.request()
  await it.app.services.users.outbox.flush()
  it.smtp.state.failing = false
  it.app.clock.advance(11 * MINUTE)
  await it.app.services.users.outbox.flush()
  expect([it.smtp.mails.length, await it.app.services.users.outbox.count()]).toEqual([0, 0])
})

test('the e-mail is in the language of the account, else of the request', async () => {
  await using it = await startEmailCodes()
  await it.request(EMAIL, { 'accept-language': 'de' })
  expect((await it.smtp.next(EMAIL)).text).toContain('Dein Code ist')
  await it.app.register('bea@example.com', { 'accept-language': 'en' })
  await it.smtp.next('bea@example.com')
  await it.request('bea@example.com', { 'accept-language': 'de' })
  expect((await it.smtp.next('bea@example.com')).text).toContain('Your code is')
})
