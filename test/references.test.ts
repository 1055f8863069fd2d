import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { generateFiles } from '../scripts/reference.ts'
import { ROOT } from '../scripts/root.ts'

test('the generated files match what "bun run reference" writes', async () => {
  for (const [path, text] of Object.entries(await generateFiles()))
    expect([path, await Bun.file(join(ROOT, path)).text()]).toEqual([path, text])
})

test('the console and the commands refer to no page of docs, which operators may not have', async () => {
  const references: string[] = []
  for await (const path of new Bun.Glob('src/**/*.{ts,tsx}').scan(ROOT)) {
    const lines = (await Bun.file(join(ROOT, path)).text()).split('\n')
    const texts = lines.filter((line) => !/^\s*(\/\/|\/?\*)/.test(line))
    references.push(...texts.filter((line) => /docs\/[\w-]+\.md/.test(line)))
  }
  expect(references).toEqual([])
})
