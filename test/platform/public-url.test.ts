import { expect, test } from 'bun:test'
import { readConfig } from '../../src/config/config.ts'
import { findConsoleUrl } from '../../src/platform/public-url.ts'

test.each([
  [{}, 'http://localhost:3000/console'],
  [{ BASE_URL: 'https://api.example.com' }, 'https://api.example.com/console'],
  [{ BASE_URL: 'https://api.example.com', CONSOLE_PORT: '3001' }, 'http://localhost:3001/console'],
  [
    { TLS_DOMAINS: 'api.example.com', CONSOLE_PORT: '8443' },
    'https://api.example.com:8443/console',
  ],
])('with %o, the console is at %s', (environment, url) => {
  expect(findConsoleUrl(readConfig({}, environment))).toBe(url)
})
