import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { version } from '../../../package.json' with { type: 'json' }
import { createTestApp } from '../../support/app.ts'

type Schema = Record<string, unknown>

test('every operation, parameter and property has a description and an example', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('GET', '/docs/json')
  for (const [path, item] of Object.entries(json.paths as Record<string, Record<string, Schema>>)) {
    for (const operation of Object.values(item)) {
      expect([path, operation['description']]).toEqual([path, expect.stringMatching(/.{20}/)])
    }
  }
  const undocumented: string[] = []
  walk(json, '', (schema, place) => {
    const { properties = {}, in: location } = schema as { properties?: object; in?: string }
    if (location && !schema['description']) undocumented.push(place)
    for (const [name, property] of Object.entries(properties)) {
      const isModel =
        property.format === 'binary' ||
        property.$ref ||
        property.allOf ||
        property.properties ||
        property.items?.$ref
      const isDescribed = isModel || property.description
      const hasExample =
        isModel || property.anyOf || property.items || property.example !== undefined
      if (!isDescribed || !hasExample) undocumented.push(`${place}.${name}`)
    }
  })
  const { schemas } = json.components
  for (const [name, schema] of Object.entries(schemas as Record<string, Schema>)) {
    if (!schema['description'] && !/(Reply|Body)$/.test(name)) undocumented.push(name)
  }
  expect(undocumented).toEqual([])
  expect(schemas.LoginBody.properties.email.example).toBe('ann@example.com')
})

test('documents headers, open enums and nullable fields so that generators understand them', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('GET', '/docs/json')
  const names = (path: string, method: string) =>
    json.paths[path][method].parameters.map(({ $ref, name }: Schema) => $ref ?? name)
  const header = (name: string) => `#/components/parameters/${name}`
  expect(names('/api/auth/login/v1', 'post')).toEqual([])
  expect(json['x-common-headers'].map(({ name }: Schema) => name)).toEqual([
    'env',
    'device',
    'timezone',
    'Accept-Language',
  ])
  expect(names('/api/user/attachments/v1', 'post')).toContain(header('IdempotencyKey'))
  expect(names('/api/user/faqs/v1', 'get')).toContain(header('IfNoneMatch'))
  expect(names('/api/webhooks/billing/v1', 'post')).toEqual([])
  const limited = json.paths['/api/auth/login/v1'].post.responses['429'].headers
  expect(Object.keys(limited)).toEqual(['X-Request-Id', 'Retry-After', 'Content-Language'])

  const { Failure, Subscription, Entitlement, PlanLimits, SubscriptionLine } =
    json.components.schemas
  expect(Failure.properties.code['x-extensible-enum']).toContain('validation_failed')
  expect(SubscriptionLine.properties.status['x-extensible-enum']).toContain('in_grace_period')
  expect(Subscription.properties.plan.allOf).toEqual([{ $ref: '#/components/schemas/PricingPlan' }])
  expect(Object.keys(PlanLimits.properties)).toHaveLength(7)
  expect(Entitlement.properties.expiresAt).toMatchObject({ format: 'date-time', nullable: true })
  expect(Entitlement.required).not.toContain('expiresAt')
  expect(Entitlement.required).toContain('active')
  expect(Entitlement.additionalProperties).toBeUndefined()
  expect(JSON.stringify(json)).not.toContain('"anyOf"')
})

test('a sign-in returns one of two models, and an upload may have several files', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('GET', '/docs/json')
  const { schemas } = json.components
  const models = { ok: 'SignedIn', two_factor_required: 'TwoFactorRequired' }
  const refs = Object.entries(models).map(([code, name]) => [code, `#/components/schemas/${name}`])
  expect(schemas.SignInReply).toMatchObject({
    oneOf: refs.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'code', mapping: Object.fromEntries(refs) },
  })
  expect(schemas.SignedIn.required).toEqual(['code', 'response'])
  expect(schemas.TwoFactorChallenge.required).toEqual(['challengeToken', 'methods', 'expiresIn'])
  expect(uploadOf(json).file).toMatchObject({ type: 'array', maxItems: 10 })
})

test('generators without oneOf get a simple document', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('GET', '/docs/json?simple')
  const { SignInResult, LoginReply, SignInReply } = json.components.schemas
  expect(JSON.stringify(json)).not.toContain('"oneOf"')
  expect(SignInReply).toBeUndefined()
  expect(LoginReply.properties.response.$ref).toBe('#/components/schemas/SignInResult')
  expect(SignInResult.required).toEqual(['expiresIn'])
  expect(uploadOf(json).file).toMatchObject({ type: 'string', format: 'binary' })
})

test('a custom setting may be a boolean, a number or text', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('GET', '/docs/json')
  const { features } = json.components.schemas.AppSettings.properties
  expect(features.additionalProperties).toBe(true)
})

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape
function uploadOf({ paths }: any) {
  const { requestBody } = paths['/api/user/attachments/v1'].post
  return requestBody.content['multipart/form-data'].schema.properties
}

test('generators get named models, plain types and one tag per operation', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('GET', '/docs/json')
  const operations = Object.values(json.paths as Record<string, Record<string, Schema>>).flatMap(
    (item) => Object.values(item),
  )
  const ids = operations.map((operation) => operation['operationId'])
  expect(new Set(ids).size).toBe(operations.length)
  for (const operation of operations) expect(operation['tags']).toHaveLength(1)

  const text = JSON.stringify(json)
  for (const unsupported of [
    '"const":',
    '"$id":',
    '"patternProperties":',
    '"type":"null"',
    '"anyOf":[{"type":"string"',
  ]) {
    expect(text).not.toContain(unsupported)
  }
  const { schemas } = json.components
  expect(Object.keys(schemas)).toEqual(
    expect.arrayContaining(['UserProfile', 'Failure', 'Message', 'AppSettings', 'PricingPlan']),
  )
  expect(schemas.PricingPlan.properties.price).toMatchObject({ minimum: 0, type: 'number' })
  expect(schemas.CurrencyRates.properties.rates.additionalProperties).toEqual({
    type: 'number',
    format: 'double',
  })
  const upload = json.paths['/api/user/attachments/v1'].post
  expect(upload.security).toEqual([{ bearer: [] }])
  // Generators that find two types send files as JSON.
  expect(Object.keys(upload.requestBody.content)).toEqual(['multipart/form-data'])
  expect(upload['x-raw-body'].contentTypes).toContain('image/*')
  const query = Object.fromEntries(
    upload.parameters.map(({ name = '', schema }: { name?: string; schema: Schema }) => [
      name,
      schema,
    ]),
  )
  expect(query['compression']).toMatchObject({ type: 'boolean', default: false })
  expect(query['type'].enum).toEqual(['supportTicket', 'publicAsset'])
})

test('every operation of the app and of its servers documents that the database can be unavailable', async () => {
  await using app = await createTestApp()
  for (const document of ['/docs/json', '/docs/server/json']) {
    const { paths } = (await app.ask('GET', document)).json
    for (const [path, item] of Object.entries<Record<string, Schema>>(paths)) {
      if (!path.startsWith('/api/')) continue
      for (const { responses } of Object.values(item) as { responses: Schema }[])
        expect([path, Object.keys(responses)]).toEqual([path, expect.arrayContaining(['503'])])
    }
  }
})

test('every operation documents a 200 response', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('GET', '/docs/json')
  for (const [path, item] of Object.entries(json.paths as Record<string, Record<string, Schema>>)) {
    for (const { responses } of Object.values(item) as { responses: Record<string, Schema> }[]) {
      expect([path, Object.keys(responses)]).toEqual([path, expect.arrayContaining(['200'])])
    }
  }
})

test('/ shows a page to browsers and 404 to other clients', async () => {
  await using app = await createTestApp({ APP_NAME: 'Trees <3', PAYLOAD_ENCRYPTION: 'required' })
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
  const page = await app.ask('GET', '/', { headers: { accept } })
  expect(page.status).toBe(200)
  expect(page.text).toContain('<h1>Trees &lt;3</h1>')
  expect(page.text).toContain(`Homeport ${version}`)
  expect(page.text).toContain('<code>homeport operators add your-name</code>')
  const [, script = ''] = /<script>(.*)<\/script>/s.exec(page.text) ?? []
  const hash = createHash('sha256').update(script).digest('base64')
  expect(page.headers.get('content-security-policy')).toContain(`script-src 'sha256-${hash}'`)
  for (const [, path = ''] of page.text.matchAll(/<a href="([^"]+)"/g)) {
    expect([path, (await app.ask('GET', path)).status]).toEqual([path, 200])
  }
  const program = await app.ask('GET', '/', { headers: { accept: '*/*', env: 'test' } })
  expect([program.status, program.json.code]).toEqual([404, 'not_found'])
})

test('the docs page loads nothing from other origins', async () => {
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

test.each(['', '/json', '/json?simple', '/script.js', '/style.css', '/start.js'])(
  'compresses /docs%s, and sends it only once',
  async (path) => {
    await using app = await createTestApp()
    const ask = (headers: Record<string, string>) =>
      app.app.handle(new Request(`http://localhost/docs${path}`, { headers })) as Promise<Response>
    const plain = await (await ask({})).text()
    const reply = await ask({ 'accept-encoding': 'gzip' })
    const bytes = new Uint8Array(await reply.arrayBuffer())
    const isLong = plain.length >= 1_000
    expect(reply.headers.get('content-encoding')).toBe(isLong ? 'gzip' : null)
    expect(new TextDecoder().decode(isLong ? Bun.gunzipSync(bytes) : bytes)).toBe(plain)
    const etag = reply.headers.get('etag') ?? ''
    const again = await ask({ 'accept-encoding': 'gzip', 'if-none-match': etag })
    expect([again.status, await again.text()]).toEqual([304, ''])
    expect((await ask({ 'if-none-match': '"other"' })).status).toBe(200)
  },
)

/** Calls `visit` for every object of a document. */
function walk(node: unknown, place: string, visit: (node: Schema, place: string) => void) {
  if (node === null || typeof node !== 'object') return
  if (!Array.isArray(node)) visit(node as Schema, place)
  for (const [name, inner] of Object.entries(node)) {
    if (name !== 'example') walk(inner, `${place}/${name}`, visit)
  }
}
