import { expect, test } from 'bun:test'
import { type AppSettings, isUpdateAvailable, isUpdateRequired } from '../../src/client/client.ts'

const ios = {
  latestVersion: '2.4.0',
  latestBuildNumber: 240,
  supportedVersion: '2.0',
  supportedBuildNumber: 200,
}

test.each([
  ['1.9.3(231)', 231, true, true],
  ['1.9u1', 999, true, true],
  ['2.4.0.RELEASE', undefined, false, false],
  ['2.4.0.1.7', undefined, false, false],
])('only the leading numbers of %s count', (version, buildNumber, required, available) => {
  const settings = { ios } as AppSettings
  const installed = { platform: 'ios', version, ...(buildNumber ? { buildNumber } : {}) } as const
  const updates = [isUpdateRequired(settings, installed), isUpdateAvailable(settings, installed)]
  expect(updates).toEqual([required, available])
})
