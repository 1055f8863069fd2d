import { expect, test } from 'bun:test'
import { join } from 'node:path'
import spectralCore from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'
import { createTestApp } from '../../support/app.ts'
import { cases } from '../../support/cases.ts'

type Schema = Record<string, unknown>

const { Spectral } = spectralCore

test('the document is OpenAPI 3.0.3 and passes redocly', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('GET', '/docs/json')
  expect(json.openapi).toBe('3.0.3')
  const file = join(app.dataDir, 'openapi.json')
  await Bun.write(file, JSON.stringify(json))
  const redocly = Bun.spawn(
    [process.execPath, '--bun', 'redocly', 'lint', '--extends=recommended', '--format=json', file],
    { cwd: join(import.meta.dir, '..', '..', '..'), stdout: 'pipe', stderr: 'pipe' },
  )
  const output = await new Response(redocly.stdout).text()
  const { problems } = JSON.parse(output.slice(output.indexOf('{')))
  const reported = problems.map(({ ruleId, message, location }: Schema) => ({
    ruleId,
    message,
    location,
  }))
  expect(reported).toEqual([])
}, 60_000)

test('the document passes spectral', async () => {
  await using app = await createTestApp()
  const spectral = new Spectral()
  spectral.setRuleset({ extends: [[rulesets.oas, 'recommended']] } as never)
  // Each document takes five seconds. The simple one, with the same models, is only for full runs.
  for (const path of ['/docs/json', '/docs/json?simple'].slice(0, cases(1, 2))) {
    const found = await spectral.run((await app.ask('GET', path)).json)
    expect(found.map(({ code, path }) => [code, path.join('/')])).toEqual([])
  }
}, 30_000)
