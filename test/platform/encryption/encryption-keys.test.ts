import { expect } from 'bun:test'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from '../../../src/lib/command.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'
import { onSqlite } from '../../support/databases.ts'
import { messagesFor } from '../../support/messages.ts'

const HOUR = 60 * 60 * 1000
const SETTINGS = '/api/user/app_settings/v1'
const head = { htu: SETTINGS }

onSqlite('it reads the key files')(
  'publishes a new key a day before its use, and accepts the old one for 30 more days',
  async () => {
    await using app = await createTestApp()
    const old = await messagesFor(app)
    await app.services.encryptionKeys.rotate(false)
    const [first = '', second = ''] = await publishedKids(app)
    expect(first).toBe(old.publicKey.kid)
    expect(second).not.toBe('')
    expect(await keyStates(app)).toEqual(['current', 'next'])
    await expect(app.services.encryptionKeys.rotate(false)).rejects.toThrow('takes effect at')

    app.clock.advance(24 * HOUR)
    expect(await publishedKids(app)).toEqual([second, first])
    expect(await keyStates(app)).toEqual(['current', 'previous'])
    expect((await old.get(SETTINGS, old.seal({ head }))).status).toBe(200)
    const fresh = await messagesFor(app)
    expect((await fresh.get(SETTINGS, fresh.seal({ head }))).status).toBe(200)

    app.clock.advance(30 * 24 * HOUR - 1_000)
    expect((await old.get(SETTINGS, old.seal({ head }))).status).toBe(200)
    app.clock.advance(1_000)
    expect((await old.get(SETTINGS, old.seal({ head }))).json.code).toBe('encryption_unknown_key')
    expect(await publishedKids(app)).toEqual([second])
    expect(await readKeyFile(app)).toHaveLength(2)
    await app.services.encryptionKeys.sweep()
    expect(await readKeyFile(app)).toHaveLength(1)
  },
)

onSqlite('it reads the key files')(
  'with --now, refuses and deletes all other keys immediately',
  async () => {
    await using app = await createTestApp()
    const old = await messagesFor(app)
    await app.services.encryptionKeys.rotate(false)
    const { printed } = await runCommand(app, 'keys rotate', [], { use: 'enc', now: true })
    expect(await readKeyFile(app)).toHaveLength(1)
    expect((await old.get(SETTINGS, old.seal({ head }))).json.code).toBe('encryption_unknown_key')
    const [kid] = await publishedKids(app)
    expect(kid).not.toBe(old.publicKey.kid)
    expect(printed).toContain(`enc  current   ${kid}`)
    const { entries } = await app.services.operators.audit.list({})
    expect(entries).toMatchObject([
      { action: 'keys.rotate', target: 'enc', after: { atOnce: true } },
    ])
    await expect(runCommand(app, 'keys rotate', [], { now: true })).rejects.toThrow(UsageError)
  },
)

onSqlite('it reads the key files')('runs concurrent rotations one after the other', async () => {
  await using app = await createTestApp()
  await Promise.all(Array.from({ length: 10 }, () => app.services.encryptionKeys.rotate(true)))
  expect(await readKeyFile(app)).toHaveLength(1)
  const { seal, get } = await messagesFor(app)
  expect((await get(SETTINGS, seal({ head }))).status).toBe(200)
})

onSqlite('it reads the key files')(
  'private keys are readable only by their owner and never printed',
  async () => {
    await using app = await createTestApp()
    const path = join(app.dataDir, 'secrets', 'encryption-keys.json')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const jwk: { d: string } = await Bun.file(path).json()
    const { outcome, printed } = await runCommand(app, 'keys list')
    expect(JSON.stringify(outcome) + printed).not.toContain(jwk.d)
  },
)

async function publishedKids(app: TestApp): Promise<string[]> {
  const { json } = await app.ask('GET', '/.well-known/jwks.json')
  const keys: { use: string; kid: string }[] = json.keys
  return keys.filter(({ use }) => use === 'enc').map(({ kid }) => kid)
}

async function keyStates(app: TestApp): Promise<string[]> {
  return app.services.encryptionKeys.list().map(({ state }) => state)
}

function readKeyFile(app: TestApp): Promise<unknown[]> {
  return Bun.file(join(app.dataDir, 'secrets', 'encryption-keys.json')).json()
}
