import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'

test('labels the console by the host of BASE_URL', async () => {
  for (const [url, environment] of [
    [undefined, 'Local'],
    ['http://localhost:3000', 'Local'],
    ['https://api.example.com', 'Production'],
    ['https://api-staging.example.com', 'Test'],
    ['https://test2.example.com', 'Test'],
    ['https://contest.example.com', 'Production'],
  ]) {
    await using app = await createTestApp(url === undefined ? {} : { BASE_URL: url })
    const { json } = await app.ask('GET', '/console/api/login/state')
    expect([url, json.response.environment]).toEqual([url, environment])
  }
})
