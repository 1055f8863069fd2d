import { expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { createTestApp, WEBHOOK_TOKEN } from '../../support/app.ts'
import { bodyOf, purchase } from '../../support/billing.ts'
import { fault } from '../../support/fault.ts'

const WEBHOOK = '/api/webhooks/billing/v1'

test(`with a signing secret, accepts only signed, unaltered and recent deliveries ${fault(86)}`, async () => {
  const secret = 'whsec_0123456789'
  await using app = await createTestApp({ WEBHOOK_SIGNING_SECRET: secret })
  const body = JSON.stringify(bodyOf(purchase('u', { id: 'signed' })))
  const seconds = Math.floor(app.clock.now.getTime() / 1000)
  const sign = (text: string, at = seconds, key = secret) =>
    createHmac('sha256', key).update(`${at}.${text}`).digest('hex')
  const send = async (signature: string | null, text = body, token = WEBHOOK_TOKEN) => {
    const headers = signature === null ? {} : { 'x-revenuecat-webhook-signature': signature }
    return (await app.ask('POST', WEBHOOK, { token, body: text, headers: headers as never })).status
  }
  const good = sign(body)
  const refused: [string | null, string?, string?][] = [
    [null],
    [''],
    [`t=${seconds}`],
    [`v1=${good}`],
    [`t=${seconds},v1=${good.slice(1)}`],
    [`t=${seconds},v1=${sign(body, seconds, 'other')}`],
    [`t=${seconds + 1},v1=${good}`],
    [`t=${seconds - 301},v1=${sign(body, seconds - 301)}`],
    [`t=${seconds + 301},v1=${sign(body, seconds + 301)}`],
    [`t=${seconds},v1=${good}`, `${body} `],
    [`t=${seconds},v1=${good}`, body, 'wrong token'],
  ]
  for (const [signature, text, token] of refused) {
    expect([signature, await send(signature, text, token)]).toEqual([signature, 401])
  }
  const rotated = `t=${seconds},v2=x,v1=${'0'.repeat(64)},v1=${good}`
  expect(await send(rotated)).toBe(200)
  expect(await send(`t=${seconds - 299},v1=${sign(body, seconds - 299)}`)).toBe(200)
})
