import { afterEach, expect, test } from 'bun:test'
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sha256 } from '../../../src/lib/crypto/hash.ts'
import { loadNative, setNativeDir } from '../../../src/lib/files/native.ts'

const OTHER_USER_ID = 54_321
const isRoot = process.getuid?.() === 0
const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

test.skipIf(!isRoot)('does not unpack into a directory that another user owns', async () => {
  const { folder, load } = await nativeFolder()
  chownSync(folder, OTHER_USER_ID, OTHER_USER_ID)
  expect(load).toThrow('belongs to another user')
  expect(readdirSync(folder)).toEqual([])
})

test.skipIf(!isRoot)('does not load from a directory that another user has prepared', async () => {
  const { folder, unpacked, load } = await nativeFolder()
  chmodSync(folder, 0o1777)
  mkdirSync(join(folder, unpacked))
  chownSync(join(folder, unpacked), OTHER_USER_ID, OTHER_USER_ID)
  expect(load).toThrow('belongs to another user')
  expect(readdirSync(join(folder, unpacked))).toEqual([])
})

test('does not load from a world-writable directory', async () => {
  const { folder, unpacked, load } = await nativeFolder()
  mkdirSync(join(folder, unpacked, 'lib'), { recursive: true })
  chmodSync(join(folder, unpacked, 'lib'), 0o777)
  expect(load).toThrow('is writable by every user')
  expect(readdirSync(join(folder, unpacked, 'lib'))).toEqual([])
})

test.skipIf(!isRoot)("root may use the directory of the data's owner", async () => {
  const { folder, unpacked, load } = await nativeFolder(OTHER_USER_ID)
  chownSync(folder, OTHER_USER_ID, OTHER_USER_ID)
  expect(load).not.toThrow(/another user|every user/)
  expect(readdirSync(join(folder, unpacked, 'lib'))).toEqual(['addon.node'])
})

/** A directory for native code, and a function that loads an invalid library from it. */
async function nativeFolder(dataOwner?: number) {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-native-'))
  folders.push(folder)
  const embedded = `${folder}.node`
  folders.push(embedded)
  writeFileSync(embedded, Bun.zstdCompressSync('no library'))
  const hash = sha256('no library', 'hex')
  const load = () => {
    setNativeDir(folder, dataOwner)
    try {
      loadNative([{ embedded, path: 'lib/addon.node', hash }])
    } catch (error) {
      // Loading reaches the invalid library only after all checks of the directory.
      if (!/file too short|invalid ELF/.test(String(error))) throw error
    }
  }
  return { folder, unpacked: hash.slice(0, 16), load }
}
