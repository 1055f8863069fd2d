import { describe, expect, test } from 'bun:test'
import { runInNewContext } from 'node:vm'
import { PASSWORD } from '../support/app.ts'
import { SERVERS } from '../support/backends.ts'
import { clientOf, signedIn } from '../support/network.ts'

const LOGIN = { email: 'ann@example.com', password: PASSWORD }

describe.each(SERVERS)('$name:', ({ env, open }) => {
  test('files are uploaded, listed, read and deleted', async () => {
    await using app = await open()
    const { client } = await signedIn(app, { env })
    const data = new TextEncoder().encode('line one\nline two')
    const files = [
      { name: 'notes "1".txt', type: 'text/plain', data },
      new File([data], 'b.txt', { type: 'text/plain' }),
    ]
    const stored = await client.uploadAttachments({ type: 'supportTicket', files })
    expect(stored.map(({ fileName }) => fileName)).toEqual(['notes "1".txt', 'b.txt'])
    const key = stored[0]?.key ?? ''
    expect(await client.readAttachment({ key })).toMatchObject({ size: data.length })
    expect(await (await app.app.handle(new Request(stored[0]?.url ?? ''))).text()).toBe(
      'line one\nline two',
    )
    const listed = await client.listAttachments({ limit: 1 })
    expect([listed.attachments.length, listed.next === null]).toEqual([1, false])
    await client.deleteAttachment({ key })
    expect((await client.listAttachments()).attachments).toHaveLength(1)
  })

  test('an upload whose response is lost is not stored twice', async () => {
    await using app = await open()
    const { client, network } = await signedIn(app, { env })
    const files = [{ name: 'a.txt', data: new TextEncoder().encode('once') }]
    const upload = () =>
      client.uploadAttachments({ type: 'supportTicket', files, idempotencyKey: 'same' })
    network.interceptor = {
      reply() {
        throw new TypeError('connection reset')
      },
    }
    await expect(upload()).rejects.toMatchObject({ code: 'network_error' })
    network.interceptor = {}
    expect(await upload()).toHaveLength(1)
    expect((await client.listAttachments()).attachments).toHaveLength(1)
  })

  test.each<[string, () => unknown]>([
    [
      'a typed array from another realm',
      () => runInNewContext('new Uint8Array([1, 116, 101]).subarray(1)'),
    ],
    [
      'an ArrayBuffer from another realm',
      () => runInNewContext('new Uint8Array([116, 101]).buffer'),
    ],
    ['a DataView', () => new DataView(new Uint8Array([116, 101]).buffer)],
  ])('%s is uploaded', async (_name, make) => {
    await using app = await open()
    const { client } = await signedIn(app, { env })
    const files = [{ name: 'a.txt', type: 'text/plain', data: make() as Uint8Array }]
    const [stored] = await client.uploadAttachments({ type: 'supportTicket', files })
    expect(await client.readAttachment({ key: stored?.key ?? '' })).toMatchObject({ size: 2 })
  })

  test('a blob: URL is read as a file', async () => {
    await using app = await open()
    const { client, network } = await signedIn(app, { env })
    const uri = URL.createObjectURL(new Blob(['text']))
    const send = network.fetch
    const fetch = async (url: string, init?: RequestInit) =>
      url.startsWith('blob:') ? globalThis.fetch(url) : send(url, init)
    const other = clientOf(app, { env, fetch })
    await other.client.startAsGuest()
    const files = [{ uri, name: 'a.txt', type: 'text/plain' }]
    const [stored] = await other.client.uploadAttachments({ type: 'supportTicket', files })
    expect(await other.client.readAttachment({ key: stored?.key ?? '' })).toMatchObject({ size: 4 })
    expect((await client.listAttachments()).attachments).toEqual([])
  })

  test('a file name with a percent sign stays as it is', async () => {
    await using app = await open()
    const { client } = await signedIn(app, { env })
    const files = [{ name: 'A%20B.txt', data: new Uint8Array([65]), type: 'text/plain' }]
    const [stored] = await client.uploadAttachments({ type: 'supportTicket', files })
    expect(stored?.fileName).toBe('A%20B.txt')
  })

  test('files are not uploaded for a user who signs in while they are being read', async () => {
    await using app = await open()
    const { client } = clientOf(app, { env })
    await client.register({ ...LOGIN, email: 'bob@example.com' })
    await client.logout()
    await client.register(LOGIN)
    const arrayBuffer = async () => {
      await client.logout()
      await client.login({ ...LOGIN, email: 'bob@example.com' })
      return new TextEncoder().encode('private').buffer
    }
    const files = [
      { name: 'diary.txt', data: { size: 7, type: 'text/plain', arrayBuffer } as Blob },
    ]
    const upload = client.uploadAttachments({ type: 'supportTicket', files })
    await expect(upload).rejects.toMatchObject({ code: 'conflict' })
    expect((await client.listAttachments()).attachments).toEqual([])
  })

  test("signing in keeps a guest's files", async () => {
    await using app = await open()
    await clientOf(app, { env }).client.register(LOGIN)
    const { client } = clientOf(app, { env })
    await client.startAsGuest()
    const files = [{ name: 'a.txt', data: new TextEncoder().encode('text') }]
    await client.uploadAttachments({ type: 'supportTicket', files })
    await client.login(LOGIN)
    expect((await client.listAttachments()).attachments).toHaveLength(1)
  })
})
