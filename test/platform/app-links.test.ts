import { expect, test } from 'bun:test'
import { readConfig } from '../../src/config.ts'
import { passkeyRelyingParty } from '../../src/platform/app-links.ts'

const PRINT = Array.from({ length: 32 }, (_, at) => at.toString(16).padStart(2, '0')).join(':')
const APK = 'android:apk-key-hash:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'

test.each([
  [{}, 'localhost', ['http://localhost:3000']],
  [
    { BASE_URL: 'https://api.example.com:8443' },
    'api.example.com',
    ['https://api.example.com:8443'],
  ],
  [
    {
      BASE_URL: 'https://api.example.com',
      PASSKEY_RP_ID: 'example.com',
      PASSKEY_ORIGINS: 'https://example.com,https://api.example.com',
      ANDROID_APPS: `com.example.app=${PRINT}, com.example.two=${PRINT}`,
    },
    'example.com',
    ['https://api.example.com', 'https://example.com', APK],
  ],
])('passkeys with %j belong to %s', (environment, rpId, origins) => {
  expect(passkeyRelyingParty(readConfig({}, environment))).toEqual({ rpId, origins })
})
