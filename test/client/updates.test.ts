import { expect, test } from 'bun:test'
import {
  type AppContext,
  type AppSettings,
  createClient,
  isUpdateAvailable,
  isUpdateRequired,
} from '../../src/client/client.ts'
import { createFakeServer } from '../../src/client/testing/testing.ts'

const IOS = {
  latestVersion: '2.4.0',
  latestBuildNumber: 240,
  supportedVersion: '2.0',
  supportedBuildNumber: 200,
}

test.each([
  ['1.9.9', 999, true, true],
  ['2.0.0', 199, true, true],
  ['2', 200, false, true],
  ['2.0.0', undefined, false, true],
  ['2.3.10', 231, false, true],
  ['2.4.0', 239, false, true],
  ['2.4', 240, false, false],
  ['2.4.0-beta.1', undefined, false, false],
  ['2.10.0', 1, false, false],
  ['3', undefined, false, false],
  ['v2.0', 200, false, true],
  ['v1.9', 999, true, true],
  ['', 1, false, false],
  ['dev', 1, false, false],
  ['$(MARKETING_VERSION)', 1, false, false],
])(
  'version %s, build %j: required %j, available %j',
  (version, buildNumber, required, available) => {
    const settings = { ios: IOS } as AppSettings
    const installed = { platform: 'ios', version, ...(buildNumber ? { buildNumber } : {}) } as const
    expect([isUpdateRequired(settings, installed), isUpdateAvailable(settings, installed)]).toEqual(
      [required, available],
    )
  },
)

test('the same object describes the app to the server and to the update check', async () => {
  const app: AppContext = { platform: 'ios', version: '2.3.1', buildNumber: 231, deviceId: 'a' }
  const { url: baseUrl, fetch, requests } = createFakeServer()
  const settings = await createClient({ baseUrl, fetch, app }).readAppSettings()
  const { headers } = requests[0] ?? {}
  expect(headers).toMatchObject({ 'app-platform': 'ios', 'app-version': '2.3.1', 'device-id': 'a' })
  expect(isUpdateRequired({ ...settings, ios: IOS }, app)).toBe(false)
})

test('a web app never needs an update', () => {
  const installed = { platform: 'web', version: '0.0.1' } as const
  const settings = { ios: IOS, android: IOS } as AppSettings
  expect([isUpdateRequired(settings, installed), isUpdateAvailable(settings, installed)]).toEqual([
    false,
    false,
  ])
})
