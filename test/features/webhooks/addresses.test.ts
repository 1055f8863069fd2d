import { expect, test } from 'bun:test'
import { isPublicAddress } from '../../../src/features/webhooks/sending/address.ts'
import { createTargets } from '../../../src/features/webhooks/sending/target.ts'
import { createTestApp } from '../../support/app.ts'
import { fault } from '../../support/fault.ts'
import { startReceiver } from '../../support/receiver.ts'
import { emit, sampleEvents } from './support/events.ts'

const PUBLIC = [
  ...['8.8.8.8', '93.184.215.14', '2606:4700:4700::1111', '2a00:1450:4001:82f::200e'],
  ...['64:ff9b::808:808', '64:ff9b::8.8.8.8', '64:ff9b::5db8:d70e', '64:ff9b:1::808:808'],
]

const NOT_PUBLIC = [
  ...['127.0.0.1', '127.255.255.254', '0.0.0.0', '0.1.2.3', '255.255.255.255'],
  ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254'],
  ...['100.64.0.1', '100.100.100.200', '192.0.0.192', '192.0.2.1', '198.51.100.1', '203.0.113.1'],
  ...['198.18.0.1', '192.88.99.1', '224.0.0.1', '240.0.0.1', '168.63.129.16'],
  ...['::', '::1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1', '::ffff:0:127.0.0.1'],
  ...['64:ff9b::7f00:1', '64:ff9b:1::a00:1', '2002:7f00:1::', '2001:0:7f00:1::', '2001:db8::1'],
  ...['64:ff9b::a00:1', '64:ff9b::c0a8:101', '64:ff9b::a9fe:a9fe', '64:ff9b::6440:1'],
  ...['64:ff9b::', '64:ff9b::e000:1', '64:ff9b::a83f:8110', '64:ff9b::ffff:ffff'],
  ...['64:ff9b:1::7f00:1', '64:ff9b:1:a00:0:100::', '64:ff9b:1:0:a:0:100:0', '64:ff9b:2::808:808'],
  ...['2001:2::1', '3fff::1', '5f00::1', 'fc00::1', 'fd00:ec2::254', 'fe80::1', 'fec0::1'],
  ...['ff02::1', '100::1', '4000::1', 'fe80::1%eth0', '', 'localhost', '1.2.3'],
]

test.each(PUBLIC)('%s is a public address', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

test.each(NOT_PUBLIC)('%p is not a public address', (address) => {
  expect(isPublicAddress(address)).toBe(false)
})

/** Ways to write an address that is not public, and other URLs that must not be requested. */
const REFUSED_URLS = [
  ...['https://127.0.0.1/', 'https://127.1/', 'https://2130706433/', 'https://0x7f.0.0.1/'],
  ...['https://0x7f000001/', 'https://0177.0.0.1/', 'https://017700000001/', 'https://127.0.0.1./'],
  ...['https://0/', 'https://１２７.0.0.1/', 'https://①②⑦.0.0.1/', 'https://127。0。0。1/'],
  ...['https://[::1]/', 'https://[::ffff:127.0.0.1]/', 'https://[::ffff:a9fe:a9fe]/'],
  ...['https://[64:ff9b::10.0.0.1]/', 'https://[2002:a00:1::]/', 'https://[::7f00:1]/'],
  ...[
    'https://169.254.169.254/latest/meta-data',
    'https://[fd00:ec2::254]/',
    'https://10.0.0.1:8443/',
  ],
  ...['http://example.com/', 'ftp://example.com/', 'file:///etc/passwd', 'data:text/plain,x'],
  ...['https://ann:secret@example.com/', 'https://ann@example.com/', 'https://example.com:0/'],
  ...[
    'https://',
    'example.com',
    '',
    'https://1.2.3.4.5/',
    `https://example.com/${'x'.repeat(2_000)}`,
  ],
]

test.each(REFUSED_URLS)(`refuses the URL %p without resolving it ${fault(147)}`, async (url) => {
  const targets = createTargets({ resolve: neverResolve, allowsPrivate: false })
  await expect(targets.locate(url)).rejects.toThrow(/must|public/)
})

const REFUSED_NAMES: [name: string, addresses: string[]][] = [
  ['localhost', ['127.0.0.1']],
  ['localhost.', ['127.0.0.1']],
  ['metadata.google.internal', ['169.254.169.254']],
  ['127.0.0.1.nip.io', ['127.0.0.1']],
  ['half.example.com', ['8.8.8.8', '10.0.0.1']],
  ['mapped.example.com', ['::ffff:10.0.0.1']],
  ['six.example.com', ['8.8.8.8', '::1']],
  ['strange.example.com', ['not an address']],
]

test.each(REFUSED_NAMES)(`refuses the name %s ${fault(147)}`, async (name, addresses) => {
  const targets = createTargets({ resolve: async () => addresses, allowsPrivate: false })
  await expect(targets.locate(`https://${name}/hooks`)).rejects.toThrow('is not a public address')
})

test(`connects to the checked address, and uses the name for Host and the certificate ${fault(147)}`, async () => {
  const asked: string[] = []
  const resolve = async (name: string) => {
    asked.push(name)
    return ['2606:4700::1', '8.8.8.8']
  }
  const targets = createTargets({ resolve, allowsPrivate: false })
  expect(await targets.locate('https://Hooks.Example.com.:8443/a%20b?c=d#e')).toEqual({
    urls: ['https://8.8.8.8:8443/a%20b?c=d', 'https://[2606:4700::1]:8443/a%20b?c=d'],
    host: 'hooks.example.com:8443',
    serverName: 'hooks.example.com',
  })
  expect(asked).toEqual(['hooks.example.com'])
})

test(`a name that changes after the check does not reach the private address ${fault(147)}`, async () => {
  using secret = startReceiver(() => new Response('internal data'))
  const answers = [['8.8.8.8'], ['127.0.0.1'], ['127.0.0.1']]
  const resolve = async () => answers.shift() ?? ['127.0.0.1']
  await using app = await createTestApp({}, { webhookSending: { resolve, timeoutMs: 300 } })
  const { webhooks } = app.services
  const { port } = new URL(secret.url)
  const url = `https://rebinding.example.com:${port}/`
  const { endpoint } = await webhooks.endpoints.add({ url, events: ['all'] })
  const { fault } = await webhooks.test(endpoint.id)
  expect(fault).toBe('rebinding.example.com resolves to 127.0.0.1, which is not a public address.')
  expect(secret.received).toHaveLength(0)
})

test('refuses to add an endpoint on a private network', async () => {
  const resolve = async () => ['10.0.0.1']
  await using app = await createTestApp({}, { webhookSending: { resolve } })
  const { endpoints } = app.services.webhooks
  const problems = []
  for (const url of ['https://intranet.example.com/', 'https://192.168.0.1/', 'http://8.8.8.8/']) {
    const refusal = await endpoints.add({ url, events: ['all'] }).catch((error) => error)
    problems.push(refusal.details[0])
  }
  expect(problems).toEqual([
    {
      path: 'url',
      message: 'intranet.example.com resolves to 10.0.0.1, which is not a public address',
    },
    { path: 'url', message: '192.168.0.1 is not a public address' },
    { path: 'url', message: 'must begin with https://' },
  ])
  expect(await endpoints.list()).toEqual([])
})

test('WEBHOOKS_ALLOW_PRIVATE=on allows private addresses and http', async () => {
  using receiver = startReceiver()
  await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
  const { webhooks } = app.services
  await webhooks.endpoints.add({ url: receiver.url, events: ['all'] })
  await emit(app, ...sampleEvents('u1').slice(0, 1))
  await webhooks.flush()
  expect(receiver.received).toHaveLength(1)
})

async function neverResolve(name: string): Promise<string[]> {
  throw new Error(`${name} was resolved`)
}
