import { afterEach, expect, test } from 'bun:test'
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sha256 } from '../../src/lib/crypto.ts'
import { loadNative, setNativeDir } from '../../src/lib/native.ts'

const STRANGER = 54_321
const isRoot = process.getuid?.() === 0
const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

test.skipIf(!isRoot)('nothing is unpacked into a folder that belongs to another user', async () => {
  const { folder, load } = await nativeFolder()
  chownSync(folder, STRANGER, STRANGER)
  expect(load).toThrow('belongs to another user')
  expect(readdirSync(folder)).toEqual([])
})

test.skipIf(!isRoot)('nothing is loaded from a folder that another user has prepared', async () => {
  const { folder, unpacked, load } = await nativeFolder()
  chmodSync(folder, 0o1777)
  mkdirSync(join(folder, unpacked))
  chownSync(join(folder, unpacked), STRANGER, STRANGER)
  expect(load).toThrow('belongs to another user')
  expect(readdirSync(join(folder, unpacked))).toEqual([])
})

test('nothing is loaded from a folder that every user may write to', async () => {
  const { folder, unpacked, load } = await nativeFolder()
  mkdirSync(join(folder, unpacked, 'lib'), { recursive: true })
  chmodSync(join(folder, unpacked, 'lib'), 0o777)
  expect(load).toThrow('every user may write to')
  expect(readdirSync(join(folder, unpacked, 'lib'))).toEqual([])
})

test.skipIf(!isRoot)('the folder of whoever has the data is good for root, too', async () => {
  const { folder, unpacked, load } = await nativeFolder(STRANGER)
  chownSync(folder, STRANGER, STRANGER)
  expect(load).not.toThrow(/another user|every user/)
  expect(readdirSync(join(folder, unpacked, 'lib'))).toEqual(['addon.node'])
})

/** A folder for native code, and what loads a library that is none from there. */
async function nativeFolder(dataOwner?: number) {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-native-'))
  folders.push(folder)
  const embedded = `${folder}.node`
  folders.push(embedded)
  writeFileSync(embedded, 'no library')
  const hash = sha256('no library', 'hex')
  const load = () => {
    setNativeDir(folder, dataOwner)
    try {
      loadNative([{ embedded, path: 'lib/addon.node', hash }])
    } catch (error) {
      // That it is no library is found out last.
      if (!/file too short|invalid ELF/.test(String(error))) throw error
    }
  }
  return { folder, unpacked: hash.slice(0, 16), load }
}
