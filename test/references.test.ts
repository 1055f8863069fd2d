import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { references } from '../scripts/reference.ts'
import { ROOT } from '../scripts/root.ts'

test('the references are as "bun run reference" writes them', async () => {
  for (const [path, text] of Object.entries(await references()))
    expect([path, await Bun.file(join(ROOT, path)).text()]).toEqual([path, text])
})
