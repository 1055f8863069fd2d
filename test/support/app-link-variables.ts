import type { Config } from '../../src/config/config.ts'

const PLAY_PRINT = Array(32).fill('AB').join(':')
const UPLOAD_PRINT = Array(32).fill('0C').join(':')

/** A valid value of each variable of app links and passkeys, its parsed form, and invalid values. */
export const APP_LINK_VARIABLES: Record<
  string,
  [value: string, parsed: Partial<Config>, invalid: string[]]
> = {
  APPLE_APP_IDS: [
    'ABCDE12345.com.example.app, ABCDE12345.com.example.two',
    { appleAppIds: ['ABCDE12345.com.example.app', 'ABCDE12345.com.example.two'] },
    ['com.example.two', 'ABCDE12345.*', 'abcde12345.com.example', 'ABCDE12345.com.example.two,'],
  ],
  ANDROID_APPS: [
    `com.example.app=${PLAY_PRINT}, com.example.app=${UPLOAD_PRINT.toLowerCase()}, com.example.two=${PLAY_PRINT}`,
    {
      androidApps: [
        {
          packageName: 'com.example.app',
          fingerprints: [PLAY_PRINT, UPLOAD_PRINT],
        },
        { packageName: 'com.example.two', fingerprints: [PLAY_PRINT] },
      ],
    },
    [
      'com.example.two',
      `app=${PLAY_PRINT}`,
      `com.example.app=${PLAY_PRINT}:AB`,
      `com.example.app=${PLAY_PRINT.slice(3)}`,
      `com.example.app=${PLAY_PRINT.replaceAll(':', '')}`,
      `com.example.app=${PLAY_PRINT},`,
    ],
  ],
  PASSKEY_RP_ID: [
    'example.com',
    { passkeyRpId: 'example.com' },
    ['https://example.com', '127.0.0.1', 'com', 'Example.com'],
  ],
  PASSKEY_ORIGINS: [
    'https://app.example.com, http://localhost:8080',
    { passkeyOrigins: ['https://app.example.com', 'http://localhost:8080'] },
    ['*', 'http://web.example.com', 'https://web.example.com/', 'web.example.com'],
  ],
}
