import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { LOCAL_USER, runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'

test('sets settings with a note, lists their versions, and rolls back', async () => {
  await using app = await createTestApp()
  const before = await app.services.settings.read()
  await runCommand(app, 'settings set', ['hardPaywall=true'], { note: 'Launch' })
  await runCommand(app, 'settings set', ['features.limit=7'])
  const { printed } = await runCommand(app, 'settings get', [], { history: true })
  const at = app.clock.now.toISOString()
  expect(printed.split('\n')).toEqual([
    `3\t${at}\tcommand`,
    '\tfeatures.limit: null → {"rules":[],"value":7}',
    `2\t${at}\tcommand\tLaunch`,
    '\thardPaywall: false → true',
    `1\t${at}\tcommand\tContent from before versioning`,
  ])
  await runCommand(app, 'settings rollback', ['1'])
  expect(await app.services.settings.read()).toEqual(before)
  const [last] = (await app.services.settings.history()).versions
  expect(last).toMatchObject({ version: 4, author: null, note: 'Rolled back to version 1' })
  await expect(runCommand(app, 'settings rollback', ['9'])).rejects.toMatchObject({
    code: 'not_found',
  })
  for (const wrong of ['0', '-1', '1.5', 'last', '']) {
    await expect(runCommand(app, 'settings rollback', [wrong])).rejects.toThrow('version number')
  }
})

test('settings set keeps the type of a custom setting', async () => {
  await using app = await createTestApp()
  await runCommand(app, 'settings set', [
    'features.ratio=1',
    'features.code=A1',
    'features.on=true',
  ])
  await runCommand(app, 'settings set', ['features.ratio=0.5', 'features.code=2024'])
  expect(await app.services.settings.read()).toMatchObject({
    features: { ratio: { value: 0.5 }, code: { value: '2024' }, on: { value: true } },
  })
})

test('settings set refuses a list, which apps would get as text', async () => {
  await using app = await createTestApp()
  for (const value of ['[1,2]', '{"a":1}', '["a"]'])
    await expect(runCommand(app, 'settings set', [`features.list=${value}`])).rejects.toMatchObject(
      {
        details: [
          { path: 'features.list', message: expect.stringContaining('use a setting for each') },
        ],
      },
    )
  expect((await app.services.settings.read()).features).toEqual({})
})

test('settings import accepts the output of settings export', async () => {
  await using app = await createTestApp()
  const { settings } = app.services
  await runCommand(app, 'settings set', ['features.paywall=soft', 'underMaintenance=true'])
  const { printed } = await runCommand(app, 'settings export')
  const exported = await settings.read()
  await runCommand(app, 'settings unset', ['features.paywall'])
  expect((await settings.read()).features).toEqual({})
  await runCommand(app, 'settings import', [await writeImport(app, printed)], { note: 'Again' })
  expect(await settings.read()).toEqual(exported)
  expect((await settings.history()).versions[0]).toMatchObject({ version: 4, note: 'Again' })
  await expect(runCommand(app, 'settings unset', ['termsUrl'])).rejects.toMatchObject({
    code: 'validation_failed',
  })
})

test('imports plans with a note, archives them, and rolls back', async () => {
  await using app = await createTestApp()
  const { plans } = app.services
  const first = await plans.list()
  const file = await writeImport(app, JSON.stringify(first.slice(0, 2)))
  const imported = await runCommand(app, 'plans import', [file], { note: 'Fewer' })
  expect(imported.printed).toBe('Imported 2, archived 1: pro_year.')
  await runCommand(app, 'plans archive', ['pro_month'])
  await expect(runCommand(app, 'plans archive', ['pro_month'])).rejects.toThrow(
    'No plan pro_month is',
  )
  const { printed } = await runCommand(app, 'plans list', [], { history: true })
  const lines = printed.split('\n').filter((line) => !line.startsWith('\t'))
  expect(lines.map((line) => line.split('\t')[3] ?? '')).toEqual([
    '',
    'Fewer',
    'Content from before versioning',
  ])
  const back = await runCommand(app, 'plans rollback', ['1'])
  expect(back.printed).toBe('Published 3, archived 0.')
  expect(await plans.list()).toEqual(first)
})

test('a command is audited like the console, with the differences', async () => {
  await using app = await createTestApp()
  const [free, ...others] = await app.services.plans.list()
  const file = await writeImport(app, JSON.stringify([{ ...free, price: 2 }, ...others]))
  await runCommand(app, 'plans publish', [file])
  await runCommand(app, 'plans archive', ['pro_year'])
  await runCommand(app, 'plans rollback', ['1'], { note: 'Too early' })
  const { entries } = await app.services.operators.audit.list({})
  expect(entries).toMatchObject([
    { action: 'plans.rollback', target: 'version 4', after: { 'free.price': 0 } },
    { action: 'plans.archive', target: 'pro_year', after: { pro_year: null } },
    { action: 'plans.publish', target: 'version 2', after: { 'free.price': 2 } },
  ])
  const [last] = (await app.services.plans.history()).versions
  expect(last).toMatchObject({ version: 4, author: null, note: 'Too early' })
})

test('archives all examples as one version', async () => {
  await using app = await createTestApp()
  const { outcome } = await runCommand(app, 'plans archive', [], { examples: true })
  expect(outcome).toEqual({ archived: 'free, pro_month, pro_year' })
  expect(await app.services.plans.readLive()).toEqual({ version: 2, content: [] })
  const again = await runCommand(app, 'plans archive', [], { examples: true })
  expect(again.printed).toBe('No plans to archive.')
  expect((await app.services.operators.audit.list({})).entries).toHaveLength(1)
})

test('two imported plans with the same id become two plans', async () => {
  await using app = await createTestApp()
  const [first] = await app.services.plans.list()
  const copies = ['a', 'b'].map((code) => ({ ...first, code, _id: 'plan-of-another-server' }))
  await runCommand(app, 'plans import', [await writeImport(app, JSON.stringify(copies))])
  const ids = (await app.services.plans.list()).map(({ _id }) => _id)
  expect(new Set(ids).size).toBe(2)
})

test('imports FAQs with a note and rolls back', async () => {
  await using app = await createTestApp()
  const { content } = app.services
  const first = (await content.readLive()).content
  const file = await writeImport(app, JSON.stringify(first.slice(1)))
  await runCommand(app, 'faqs import', [file], { note: 'One less' })
  expect((await runCommand(app, 'faqs list', [], { history: true })).printed).toContain('One less')
  await runCommand(app, 'faqs rollback', ['1'])
  expect(await content.readLive()).toEqual({ version: 3, content: first })
  expect(await content.readVersions()).toEqual({ appSetting: 1, faqs: 3 })
})

test('the console refuses to overwrite a version that a command published in the meantime', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { version, content } = await ann.read('settings')
  await runCommand(app, 'settings set', ['hardPaywall=true'])
  const json = { base: version, note: '', content }
  expect((await ann.ask('POST', 'settings/publish', { json })).status).toBe(409)
  const { entries } = await ann.read('audit?action=settings.set')
  expect(entries).toMatchObject([
    {
      origin: LOCAL_USER,
      target: 'version 2',
      before: { hardPaywall: false },
      after: { hardPaywall: true },
    },
  ])
})

test('each kind has its own versions', async () => {
  await using app = await createTestApp()
  const { settings, plans, content } = app.services
  await settings.set({ hardPaywall: true })
  await settings.set({ hardPaywall: false })
  expect((await settings.readLive()).version).toBe(3)
  expect((await plans.readLive()).version).toBe(0)
  expect((await content.readLive()).version).toBe(0)
  await expect(plans.rollBack(2)).rejects.toMatchObject({ code: 'not_found' })
})

async function writeImport(app: TestApp, text: string): Promise<string> {
  const path = join(app.dataDir, 'import.json')
  await Bun.write(path, text)
  return path
}
