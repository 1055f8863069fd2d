import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importJWK } from 'jose'
import { openRequest } from '../../../src/platform/encryption/message.ts'
import vectors from '../../platform/encryption/payload-encryption.json' with { type: 'json' }
import { PASSWORD } from '../../support/app.ts'
import { buildExecutable, installExecutable } from '../../support/executable.ts'
import { startRecordingProxy } from '../../support/wire.ts'
import { startDriver } from './driver-process.ts'
import type { Command } from './protocol.ts'
import type { JsonRecord } from './types.ts'

const { serverKey, requests, replies } = vectors
const { d: _private, ...publicKey } = serverKey
const keys = {
  find: async (kid: string) =>
    kid === serverKey.kid ? await importJWK(serverKey, 'ECDH-ES') : null,
  findJwk: (kid: string) => (kid === serverKey.kid ? serverKey : null),
}
/** Replies that an intermediary forges. */
const FORGED: Record<string, (reply: Response) => Promise<Response>> = {
  'a plain success': async () => Response.json({ code: 'ok', response: { forged: true } }),
  'a page of the proxy': async () =>
    new Response('<html>Welcome</html>', { headers: { 'content-type': 'text/html' } }),
  'a changed reply': async (reply) => new Response(damage(await reply.text()), reply),
}

/** Tests that a client seals as the page on payload encryption describes. `command` starts its driver. */
export function testSealing(command: () => string[]) {
  test('seals the request of each vector so that the server opens it', async () => {
    await using driver = useDriver(command())
    for (const { name, jwe } of requests) {
      const { head, body, contentType } = await openRequest(jwe, keys)
      const token = head.at ?? null
      const request = { method: head.htm, target: head.htu, token, contentType, body: encode(body) }
      const sealed = await driver.perform('seal', {
        jwk: publicKey,
        request,
        now: head.iat * 1000,
      })
      const { head: seen, ...opened } = await openRequest(sealed['message'] as string, keys)
      const { jti, rk, ath, ...same } = head
      expect([name, seen]).toMatchObject([name, { ...same, ...(token === null ? {} : { ath }) }])
      expect([seen.jti === jti, seen.rk === rk]).toEqual([false, false])
      expect([encode(opened.body), opened.contentType]).toEqual([encode(body), contentType])
    }
  })

  test('opens the reply of each vector, and refuses any other', async () => {
    await using driver = useDriver(command())
    for (const { name, jwe, jti, status, replyKey, plaintext } of replies) {
      const reply = { message: jwe, jti, status, replyKey }
      const { body } = await driver.perform('open', reply)
      const opened = Buffer.from(body as string, 'base64url').toString()
      const whole = Buffer.from(plaintext, 'base64url').toString()
      expect([name, opened]).toEqual([name, whole.slice(whole.indexOf('\n') + 1)])
      for (const change of [
        { message: damage(jwe) },
        { message: jwe.slice(0, -8) },
        { message: 'no message' },
        { status: status + 1 },
        { jti: `${jti.slice(1)}A` },
        { replyKey: encode(new Uint8Array(32)) },
      ]) {
        const refused = driver.perform('open', { ...reply, ...change })
        expect(await refused.catch(({ code }: JsonRecord) => code)).toBe('reply_invalid')
      }
    }
  })

  test('works with sealing and the executable, and trusts no intermediary', async () => {
    await buildExecutable()
    await using homeport = await installExecutable()
    const server = await homeport.start({ PAYLOAD_ENCRYPTION: 'required' })
    await using proxy = startProxy(server.url)
    const folder = await mkdtemp(join(tmpdir(), 'homeport-sealed-'))
    await using driver = useDriver(command())
    const { stdout } = await homeport.run(['keys', 'list', '--json'])
    const pins = (JSON.parse(stdout) as { use: string; kid: string }[])
      .filter(({ use }) => use === 'enc')
      .map(({ kid }) => kid)
    const create = (pinnedKeys: string[]) => {
      const options = { env: 'production', pinnedKeys, device: 'Phone' }
      const place = { baseUrl: proxy.url, folder, now: Date.now() }
      return driver.perform('create', { ...place, options })
    }
    const call = (fn: string, args: JsonRecord = {}) => driver.perform('call', { fn, args })
    const rename = (name: string) => call('changeProfile', { profile: { name } })
    const codeOf = (failing: Promise<unknown>) =>
      failing.then(
        () => 'ok',
        ({ code }) => code,
      )
    const readName = async () => (await call('readProfile'))['profile'] as JsonRecord

    await create(['another-key'])
    expect(await codeOf(call('readFaqs'))).toBe('no_trusted_key')
    await create(pins)
    await call('register', { email: 'ann@example.com', password: PASSWORD, name: 'canary-name' })
    await rename('Ann')
    for (const [name, forge] of Object.entries(FORGED)) {
      proxy.forge = forge
      const refused = await codeOf(rename(name))
      expect([name, refused]).toEqual([
        name,
        name === 'a changed reply' ? 'reply_invalid' : 'reply_not_sealed',
      ])
    }
    proxy.forge = null
    expect(await readName()).toMatchObject({ name: 'a changed reply' })
    proxy.isTwice = true
    expect(await codeOf(rename('Ann once'))).toBe('encryption_replay')
    proxy.isTwice = false
    expect(await readName()).toMatchObject({ name: 'Ann once' })
    for (const secret of ['canary', PASSWORD, 'Bearer ey', 'refreshToken'])
      expect([secret, proxy.text().includes(secret)]).toEqual([secret, false])
    await rm(folder, { recursive: true })
  }, 120_000)
}

/** A driver whose commands return their result, or throw its error. */
function useDriver(command: string[]) {
  const driver = startDriver(command)
  return {
    async perform(what: Command['do'], parameters: JsonRecord): Promise<JsonRecord> {
      const { ok, error } = await driver.ask({ do: what, ...parameters })
      if (error) throw error
      return ok as JsonRecord
    },
    [Symbol.asyncDispose]: driver.kill,
  }
}

/** A proxy that terminates TLS, and interferes with changes. */
function startProxy(target: string) {
  const proxy = {
    forge: null as ((reply: Response) => Promise<Response>) | null,
    /** Sends each change a second time, and passes on the second reply. */
    isTwice: false,
  }
  const wire = startRecordingProxy(target, async ({ method }, send) => {
    if (method === 'GET') return send()
    if (proxy.isTwice) await send()
    const reply = await send()
    return proxy.forge ? proxy.forge(reply) : reply
  })
  return Object.assign(proxy, wire)
}

/** Changes one character of the sealed part. */
function damage(message: string): string {
  const at = message.length - 30
  return message.slice(0, at) + (message[at] === 'A' ? 'B' : 'A') + message.slice(at + 1)
}

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}
