import { expect, test } from 'bun:test'
import { createTestApp, PASSWORD } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'

test('the audit log keeps no personal data of a deleted user', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const email = 'secret-bob@example.com'
  const { user, accessToken: token } = await app.register(email)
  const device = { 'user-agent': 'Secret phone' }
  const json = { email, password: PASSWORD }
  await app.ask('POST', '/api/auth/login/v1', { json, headers: device })
  const stored = await app.ask('POST', '/api/user/attachments/v1?type=supportTicket', {
    token,
    body: 'text',
    headers: { 'content-type': 'text/plain', 'x-file-name': 'secret.txt' },
  })
  const { key } = stored.json.response[0]
  const userPath = `people/${user._id}`
  const sessions = (await ann.read(userPath)).sessions as { _id: string }[]
  for (const { _id } of sessions) await ann.ask('POST', `${userPath}/sessions/${_id}/end`)
  await ann.ask('POST', `${userPath}/grants`, {
    json: { entitlementId: 'pro', until: null, reason: 'secret reason' },
  })
  await ann.ask('GET', `${userPath}/files/${key}/open`)
  await ann.ask('POST', `${userPath}/files/${key}/delete`)
  await ann.ask('GET', `people/export.csv?q=${email}`)
  await ann.ask('GET', `audit/export?target=${email}`)
  await ann.ask('POST', 'events/replay', { json: { user: email } })
  await runCommand(app, 'access grant', [email, 'pro'], { forever: true, reason: 'secret' })
  await ann.ask('POST', `${userPath}/delete`, { json: { confirm: email } })
  const { entries } = await app.services.operators.audit.list({ limit: 100 })
  expect(new Set(entries.map(({ action }) => action))).toEqual(
    new Set([
      ...['operators.set-up', 'users.end-session', 'access.grant', 'files.open', 'files.delete'],
      ...['people.export-csv', 'audit.export', 'events.replay-matching', 'users.delete'],
    ]),
  )
  expect(JSON.stringify(entries)).not.toMatch(/secret/i)
})
