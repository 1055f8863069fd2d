import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createTestApp } from '../support/app.ts'

type Schema = Record<string, unknown>

test('the interface is OpenAPI 3.0.3 that redocly finds no error in', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('GET', '/docs/json')
  expect(json.openapi).toBe('3.0.3')
  const file = join(app.dataDir, 'openapi.json')
  await Bun.write(file, JSON.stringify(json))
  const redocly = Bun.spawn(
    [process.execPath, '--bun', 'redocly', 'lint', '--extends=recommended', '--format=json', file],
    { cwd: join(import.meta.dir, '..', '..'), stdout: 'pipe', stderr: 'pipe' },
  )
  const output = await new Response(redocly.stdout).text()
  const { problems } = JSON.parse(output.slice(output.indexOf('{')))
  const told = problems.map(({ ruleId, message, location }: Schema) => ({
    ruleId,
    message,
    location,
  }))
  expect(told).toEqual([])
}, 60_000)

test('generators get named models, plain types and one tag an operation', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('GET', '/docs/json')
  const operations = Object.values(json.paths as Record<string, Record<string, Schema>>).flatMap(
    (item) => Object.values(item),
  )
  const ids = operations.map((operation) => operation['operationId'])
  expect(new Set(ids).size).toBe(operations.length)
  for (const operation of operations) expect(operation['tags']).toHaveLength(1)

  const text = JSON.stringify(json)
  for (const trap of [
    '"const":',
    '"$id":',
    '"patternProperties":',
    '"type":"null"',
    '"anyOf":[{"type":"string"',
  ]) {
    expect(text).not.toContain(trap)
  }
  const { schemas } = json.components
  expect(Object.keys(schemas)).toEqual(
    expect.arrayContaining(['UserProfile', 'Failure', 'Message', 'AppSettings', 'PricingPlan']),
  )
  expect(schemas.PricingPlan.properties.price).toEqual({ minimum: 0, type: 'number' })
  expect(schemas.CurrencyRates.properties.rates.additionalProperties).toEqual({ type: 'number' })
  const upload = json.paths['/api/user/attachments/v1'].post
  expect(upload.security).toEqual([{ bearer: [] }])
  expect(Object.keys(upload.requestBody.content)).toEqual(['multipart/form-data', 'image/*'])
  const query = Object.fromEntries(
    upload.parameters.map(({ name, schema }: { name: string; schema: Schema }) => [name, schema]),
  )
  expect(query['compression']).toEqual({ type: 'boolean', default: false })
  expect(query['type'].enum).toEqual(['supportTicket', 'publicAsset'])
})

test('what routes answer is what they document', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('GET', '/docs/json')
  for (const [path, item] of Object.entries(json.paths as Record<string, Record<string, Schema>>)) {
    for (const { responses } of Object.values(item) as { responses: Record<string, Schema> }[]) {
      expect([path, Object.keys(responses)]).toEqual([path, expect.arrayContaining(['200'])])
    }
  }
})

test('the docs page loads nothing from elsewhere', async () => {
  await using app = await createTestApp()
  const page = await app.ask('GET', '/docs')
  expect(page.headers.get('content-type')).toStartWith('text/html')
  expect(page.headers.get('content-security-policy')).toContain("connect-src 'self'")
  const sources = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source)
  expect(sources.filter((source) => source !== 'data:,')).toEqual([
    '/docs/style.css',
    '/docs/script.js',
    '/docs/start.js',
  ])
  for (const source of sources.slice(1)) {
    const asset = await app.ask('GET', source ?? '')
    expect([source, asset.status, asset.text.length > 50]).toEqual([source, 200, true])
  }
})
