import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { embedNative, hidePaths } from '../../scripts/build.ts'
import { ROOT } from '../../scripts/root.ts'

const PLATFORM = 'linux-riscv64'
const NATIVE_FILES = [
  `@img/sharp-libvips-${PLATFORM}/lib/libvips-cpp.so.8`,
  `@img/sharp-${PLATFORM}/lib/sharp.node`,
  `@node-rs/argon2-${PLATFORM}-gnu/argon2.node`,
]

test('a build for another platform contains no native code or path of this machine', async () => {
  const packages = await mkdtemp(join(tmpdir(), 'homeport-packages-'))
  for (const path of NATIVE_FILES) await Bun.write(join(packages, path), path)
  const { success, outputs } = await Bun.build({
    entrypoints: [join(ROOT, 'src/features/attachments/images/image.ts')],
    plugins: [embedNative(PLATFORM, (name) => join(packages, name)), hidePaths()],
    target: 'bun',
  })
  expect(success).toBe(true)
  const assets = outputs.filter(({ kind, path }) => kind === 'asset' && !path.endsWith('.wasm'))
  const unpack = async (asset: Blob) => Bun.zstdDecompressSync(await asset.arrayBuffer()).toString()
  const contents = await Promise.all(assets.map(unpack))
  expect(contents.toSorted()).toEqual(NATIVE_FILES.slice(0, 2))
  const code = outputs.filter(({ kind }) => kind !== 'asset')
  for (const output of code) expect(await output.text()).not.toContain(ROOT)
  await rm(packages, { recursive: true })
})
