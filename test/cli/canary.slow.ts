import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { postJson, requesterFor } from '../support/requests.ts'
import { routes } from '../support/routes.ts'

beforeAll(buildExecutable, 300_000)

/** Part of every secret and of every user input. */
const CANARY = 'canary7f3a9c'

const ENV = {
  WEBHOOK_TOKEN: `${CANARY}-webhook`,
  WEBHOOK_SIGNING_SECRET: `${CANARY}-signing`,
  METRICS_TOKEN: `${CANARY}-metrics`,
  RC_API_KEY: `${CANARY}-provider`,
  RC_API_URL: 'http://127.0.0.1:1',
  RATES_PROVIDER: 'openexchangerates',
  RATES_URL: 'http://127.0.0.1:1/latest.json',
  RATES_API_KEY: `${CANARY}-rates`,
  SMTP_URL: `smtp://${CANARY}:${CANARY}@127.0.0.1:1`,
  BACKUP_KEY: `${CANARY}-backup`,
  LOG_LEVEL: 'debug',
}

test(`neither secrets nor user input appear in the log or in metrics ${fault(143)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(ENV)
  const ask = requesterFor(server)
  const email = `ann@${CANARY}.example`
  const registered = await postJson(server, '/api/auth/register/v1', {
    email,
    password: `battery ${CANARY}`,
  })
  const { accessToken } = ((await registered.json()) as { response: { accessToken: string } })
    .response
  for (const { method, path } of routes) {
    const [bare = ''] = path.split('?')
    const validBody = JSON.stringify({ email, password: CANARY, token: CANARY, code: CANARY })
    for (const [token, env, body] of [
      [accessToken, 'test', validBody],
      [CANARY, CANARY, `{"${CANARY}`],
    ] as const) {
      await ask(method, `${bare}?key=${CANARY}&token=${CANARY}`, {
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'user-agent': CANARY,
          cookie: CANARY,
          env,
        },
        ...(method === 'GET' ? {} : { body }),
      }).catch(() => {})
    }
  }
  for (const path of [`/${CANARY}`, `/files/${CANARY}.webp`, `/auth/reset?token=${CANARY}`])
    await ask('GET', path)
  for (const args of [
    ['user', 'show', CANARY],
    ['events', 'show', CANARY],
    ['rates', 'refresh'],
  ]) {
    await homeport.run(args, ENV)
  }
  const metrics = await fetch(`${server.url}/metrics`, {
    headers: { authorization: `Bearer ${ENV.METRICS_TOKEN}` },
  })
  const metricsText = await metrics.text()
  await server.stop()
  const log = await Bun.file(join(homeport.folder, 'log')).text()
  expect(log.split('\n').length).toBeGreaterThan(routes.length * 2)
  expect(log.split('\n').filter((line) => line.includes(CANARY))).toEqual([])
  expect(log).not.toContain(accessToken)
  expect([
    metrics.status,
    metricsText.includes(CANARY),
    metricsText.includes('homeport_http'),
  ]).toEqual([200, false, true])
}, 60_000)
