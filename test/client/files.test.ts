import { afterEach, expect, spyOn, test } from 'bun:test'
import { withDeadline } from '../../src/client/deadline.ts'
import { encodeUpload } from '../../src/client/form.ts'
import { createTransmit } from '../../src/client/transmit.ts'

const globals = globalThis as Record<string, unknown>

afterEach(() => {
  delete globals['XMLHttpRequest']
})

test('a file URI is passed to the platform, or read if it must be sealed', async () => {
  const files = [{ uri: 'file:///photo.jpg', name: 'photo.jpg', type: 'image/jpeg' }]
  const plain = await encodeUpload(files, false)
  expect([plain.contentType, plain.size, plain.body instanceof FormData]).toEqual([
    null,
    null,
    true,
  ])

  globals['XMLHttpRequest'] = class {
    responseType = ''
    response: unknown
    onload = () => {}
    open(_method: string, uri: string) {
      this.response = new TextEncoder().encode(`bytes of ${uri}`).buffer
    }
    send() {
      this.onload()
    }
  }
  const sealed = await encodeUpload(files, true)
  expect(new TextDecoder().decode(sealed.body as Uint8Array)).toContain(
    'bytes of file:///photo.jpg',
  )
  // React Native's forms cannot contain bytes, so one file in memory makes the client read the others.
  const mixed = await encodeUpload(
    [...files, { name: 'note.txt', data: new Uint8Array([65]) }],
    false,
  )
  expect(mixed.size).toBeGreaterThan(0)
})

test('reads the getters of an Expo file', async () => {
  class ExpoFile {
    get uri() {
      return 'file:///photo.jpg'
    }
    get name() {
      return 'photo.jpg'
    }
  }
  using append = spyOn(FormData.prototype, 'append').mockReturnValue()
  await encodeUpload([new ExpoFile()], false)
  const type = 'application/octet-stream'
  const part = { uri: 'file:///photo.jpg', name: 'photo.jpg', type }
  expect(append).toHaveBeenCalledWith('file', part as unknown as Blob)
})

test('a Blob that the platform cannot read is an error, not an empty file', async () => {
  const blob = { size: 3, type: 'text/plain' } as Blob
  const form = encodeUpload([{ name: 'note.txt', data: blob }], false)
  await expect(form).rejects.toMatchObject({ code: 'file_unreadable' })
})

test('an upload that iOS times out is reported as a lost connection', async () => {
  globals['XMLHttpRequest'] = class {
    upload = {}
    ontimeout = () => {}
    open() {}
    setRequestHeader() {}
    send() {
      this.ontimeout()
    }
  }
  const request = { url: 'http://127.0.0.1:9/', method: 'POST', headers: {}, body: 'x' }
  const reply = withDeadline({ timeout: 5_000 }, (deadline) =>
    createTransmit()(request, { ...deadline, onProgress: () => {} }),
  )
  await expect(reply).rejects.toMatchObject({ code: 'network_error' })
})
