import { expect, test } from 'bun:test'
import { serverClient } from '../../support/api-keys.ts'
import { createTestApp } from '../../support/app.ts'

test('API keys write versioned server data, and the app reads it', async () => {
  await using app = await createTestApp()
  const ask = await serverClient(app)
  const { user, accessToken: token } = await app.register()
  const path = `users/v1/${user._id}/data`
  const first = (await ask('PUT', path, { json: { score: 1, level: 'a' } })).json.response
  const patched = await ask('PATCH', `${path}?version=${first.version}`, {
    json: { score: 2, level: null },
  })
  expect(patched.json.response.serverData).toEqual({ score: 2 })
  expect(patched.headers.get('etag')).toBe(`"${patched.json.response.version}"`)
  const stale = { 'if-match': `"${first.version}"` }
  const lost = await ask('PATCH', path, { json: { score: 3 }, headers: stale })
  expect([lost.status, lost.json.code]).toEqual([412, 'precondition_failed'])
  for (const [name, value] of [
    ['if-none-match', '*'],
    ['if-match', ''],
  ] as const) {
    for (const method of ['PUT', 'PATCH']) {
      const refused = await ask(method, path, { json: { score: 3 }, headers: { [name]: value } })
      expect([name, method, refused.status]).toEqual([name, method, 412])
    }
  }
  expect((await ask('GET', path)).json.response.serverData).toEqual({ score: 2 })
  const own = await app.ask('GET', '/api/user/data/v1', { token })
  expect(own.json.response).toMatchObject({ data: {}, serverData: { score: 2 } })
  const replaced = await app.ask('PUT', '/api/user/data/v1', { token, json: { mine: true } })
  expect(replaced.json.response).toMatchObject({ data: { mine: true }, serverData: { score: 2 } })
})

test('the responses with server data document their ETag', async () => {
  await using app = await createTestApp()
  const { paths } = (await app.ask('GET', '/docs/server/json')).json
  for (const operation of Object.values(paths['/api/server/users/v1/{id}/data'])) {
    expect(operation).toMatchObject({
      responses: { '200': { headers: { ETag: expect.anything() } } },
    })
  }
})
