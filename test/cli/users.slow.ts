import { beforeAll, expect, test } from 'bun:test'
import { PASSWORD } from '../support/app.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { register, requesterFor, signIn } from '../support/requests.ts'

beforeAll(buildExecutable, 300_000)

test('an operator finds users by id or address, verifies, signs out and deletes them', async () => {
  await using homeport = await installExecutable()
  const { run } = homeport
  const server = await homeport.start()
  const ask = requesterFor(server)
  const { accessToken: token } = await register(server, 'Ann@example.com')
  await register(server, 'bob@example.com')
  const json = async (...args: string[]) => JSON.parse((await run([...args, '--json'])).stdout)
  const profile = () =>
    ask('GET', '/api/user/profile/v1', { headers: { authorization: `Bearer ${token}` } })

  const allUsers = await json('user', 'list')
  expect(allUsers.users.map(({ email }: { email: string }) => email)).toEqual([
    'bob@example.com',
    'Ann@example.com',
  ])
  const first = await json('user', 'list', '--limit', '1')
  const second = await json('user', 'list', '--limit', '1', '--after', first.next)
  expect([second.users[0].email, second.next]).toEqual(['Ann@example.com', null])
  const found = await json('user', 'list', 'AN')
  const { id } = found.users[0]
  expect(found.users).toHaveLength(1)

  expect((await json('user', 'show', 'ann@example.com')).user._id).toBe(id)
  expect((await run(['user', 'verify', id])).stdout).toContain('Ann@example.com')
  expect((await json('user', 'show', id)).account.emailVerifiedAt).not.toBeNull()
  expect((await json('user', 'subscription', 'ann@example.com')).plan.code).toBe('free')

  expect((await profile()).status).toBe(200)
  expect((await run(['user', 'sign-out', 'ann@example.com', '--yes'])).stdout).toContain(
    'Ended 1 session of',
  )
  expect((await profile()).status).toBe(401)

  const refused = await run(['user', 'delete', id])
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('Add --yes')])
  expect((await signIn(server, 'ann@example.com')).status).toBe(200)
  expect((await run(['user', 'delete', id, '--yes'])).exitCode).toBe(0)
  expect((await signIn(server, 'ann@example.com')).status).toBe(401)
  for (const command of ['show', 'subscription']) {
    const unknown = await run(['user', command, id])
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('no user')])
  }
  await server.stop()
  const log = await Bun.file(`${homeport.folder}/log`).text()
  expect(log).toContain(`"command":"users delete","target":"${id}"`)
}, 30_000)

test('an operator creates an account with a generated or a chosen password', async () => {
  await using homeport = await installExecutable()
  const { run } = homeport
  const server = await homeport.start()
  const created = await run(['user', 'create', 'ann@example.com', '--name', 'Ann', '--json'])
  const { password } = JSON.parse(created.stdout)
  const ask = requesterFor(server)
  const logIn = (email: string, secret: string) =>
    ask('POST', '/api/auth/login/v1', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password: secret }),
    })
  const { body } = await logIn('ann@example.com', password)
  expect(body.response.user.profile.name).toBe('Ann')
  const duplicate = await run(['user', 'create', 'ann@example.com'])
  expect([duplicate.exitCode, duplicate.stderr]).toEqual([
    1,
    expect.stringContaining('"homeport users show'),
  ])
  const chosen = await run(['user', 'create', 'bob@example.com', '--password-stdin'], {}, PASSWORD)
  expect([chosen.exitCode, chosen.stdout.includes(PASSWORD)]).toEqual([0, false])
  expect((await logIn('bob@example.com', PASSWORD)).status).toBe(200)
  for (const email of ['ann@example.com', 'no address']) {
    expect((await run(['user', 'create', email])).exitCode).toBe(1)
  }
  await server.stop()
}, 30_000)
