import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { references } from '../scripts/reference.ts'
import { ROOT } from '../scripts/root.ts'

test('the references are as "bun run reference" writes them', async () => {
  for (const [path, text] of Object.entries(await references()))
    expect([path, await Bun.file(join(ROOT, path)).text()]).toEqual([path, text])
})

test('the console and the commands name no page of docs, which operators may not have', async () => {
  const named: string[] = []
  for await (const path of new Bun.Glob('src/**/*.{ts,tsx}').scan(ROOT)) {
    const lines = (await Bun.file(join(ROOT, path)).text()).split('\n')
    const texts = lines.filter((line) => !/^\s*(\/\/|\/?\*)/.test(line))
    named.push(...texts.filter((line) => /docs\/[\w-]+\.md/.test(line)))
  }
  expect(named).toEqual([])
})
