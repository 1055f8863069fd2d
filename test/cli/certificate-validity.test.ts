import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { networkChecks } from '../../src/cli/doctor/network-checks.ts'
import { startTls } from '../../src/cli/tls/tls.ts'
import { readConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/lib/log/log.ts'
import { DAY_MS } from '../../src/lib/time/durations.ts'
import { selfSigned } from '../support/certificates.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'homeport-certificate-'))
})
afterAll(() => rm(folder, { recursive: true }))

const fromNow = (days: number) => new Date(Date.now() + days * DAY_MS)

for (const [state, validity, sentence] of [
  ['an expired', { notBefore: fromNow(-9), notAfter: fromNow(-1) }, /expired on \d{4}-/],
  ['a future', { notBefore: fromNow(1), notAfter: fromNow(9) }, /is not valid before \d{4}-/],
  ['a valid', { notBefore: fromNow(-1), notAfter: fromNow(99) }, null],
] as const) {
  test(`the log, /ready and doctor report the state of ${state} certificate`, async () => {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    const certificate = await selfSigned('api.example.com', validity)
    await Promise.all([Bun.write(cert, certificate.cert), Bun.write(key, certificate.key)])
    const config = readConfig({}, { TLS_CERT: cert, TLS_KEY: key, DATA_DIR: folder })
    const lines: string[] = []
    const log = createLog('info', { write: (line: string) => void lines.push(line) })
    const tls = await startTls(config, () => {}, log)
    const check = networkChecks(config, null).find(({ name }) => name === 'certificate')
    const finding = await check?.run()
    expect(tls?.isFailing()).toBe(sentence !== null)
    if (sentence === null) expect([lines, finding?.state]).toEqual([[], 'warning'])
    else {
      expect(lines.join()).toMatch(sentence)
      expect(finding).toMatchObject({ state: 'failed', detail: expect.stringMatching(sentence) })
    }
    await tls?.stop()
  })
}
