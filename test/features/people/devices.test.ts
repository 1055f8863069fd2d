import { expect, test } from 'bun:test'
import { createTestApp, PASSWORD } from '../../support/app.ts'
import { startSmtp } from '../../support/smtp.ts'

const EMAIL = 'ann@example.com'

test('a device is new once, whatever it is called, and its mail says just that name', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url, BASE_URL: 'https://api.example.com' })
  await app.register(EMAIL)
  await smtp.next(EMAIL)
  const names = [`${'a'.repeat(199)}😀 and more`, "A$'B $& $`", 'Zoë’s 100 %', 'plain %zz']
  for (const name of names) {
    for (const _again of [1, 2, 3]) {
      const headers = { device: encodeURIComponent(name) }
      const json = { email: EMAIL, password: PASSWORD }
      expect((await app.ask('POST', '/api/auth/login/v1', { json, headers })).status).toBe(200)
    }
    const { text } = await smtp.next(EMAIL)
    expect(text).toContain([...name].slice(0, 200).join(''))
    expect(text.match(/change your password/g)?.length).toBeLessThanOrEqual(2)
  }
})
