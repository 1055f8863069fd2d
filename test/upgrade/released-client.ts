import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { plugin } from 'bun'
import { packTar, unpackTar } from 'modern-tar'

/**
 * As a preload of tests (`bun test --preload`), this file replaces the client's source with the packed client of the
 * last release: apps keep their version when the server is upgraded.
 */
const FILE = join(import.meta.dir, 'data', 'client.zst')
const BUILT = join(import.meta.dir, '..', '..', 'dist', 'client')

// `bun test/upgrade/released-client.ts` stores the client in `dist` as that of the release.
if (import.meta.main) {
  const names = (await readdir(BUILT)).filter((name) => name.endsWith('.js'))
  const entries = await Promise.all(
    names.map(async (name) => ({
      header: { name, size: 0 },
      body: await Bun.file(join(BUILT, name)).bytes(),
    })),
  )
  for (const { header, body } of entries) header.size = body.length
  await Bun.write(FILE, Bun.zstdCompressSync(await packTar(entries), { level: 19 }))
} else {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-client-'))
  for (const { header, data } of await unpackTar(
    Bun.zstdDecompressSync(await Bun.file(FILE).bytes()),
  )) {
    await Bun.write(join(folder, header.name), data ?? '')
  }
  plugin({
    name: 'the released client',
    setup({ onLoad }) {
      onLoad({ filter: /src\/client\/(client|sealed-transport)\.ts$/ }, ({ path }) => {
        const released = join(folder, basename(path, '.ts'))
        return { contents: `export * from ${JSON.stringify(`${released}.js`)}`, loader: 'js' }
      })
    },
  })
}
