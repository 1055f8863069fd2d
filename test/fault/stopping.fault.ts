import { beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { fault } from '../support/fault.ts'

beforeAll(buildExecutable, 300_000)

test(`a stopping server disconnects a stuck client after ten seconds ${fault(29)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const stuck = connect(server.port, '127.0.0.1')
  stuck.on('error', () => {})
  stuck.write(
    'POST /api/auth/login/v1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
  )
  await Bun.sleep(200)
  const start = performance.now()
  expect(await server.stop()).toBe(0)
  expect(performance.now() - start).toBeLessThan(12_000)
  stuck.destroy()
}, 40_000)
