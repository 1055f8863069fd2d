import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createConsoleApp } from '../../src/server/app.ts'
import { createTestApp } from '../support/app.ts'

const CONSOLE = join(import.meta.dir, '../../src/console')
const API = '/console/api/'

test('the console app uses every console route', async () => {
  await using app = await createTestApp()
  const files = [...new Bun.Glob('**/*.{ts,tsx}').scanSync(CONSOLE)]
  const code = (await Promise.all(files.map((path) => Bun.file(join(CONSOLE, path)).text()))).join()
  const isUsed = (word: string) => new RegExp(`['"\`/]${word}['"\`/?]`).test(code)
  const paths = (createConsoleApp(app.services).routes as { path: string }[]).map(
    ({ path }) => path,
  )
  const routes = paths.filter((path) => path.startsWith(API)).map((path) => path.slice(API.length))
  expect(routes.length).toBeGreaterThan(50)
  const wordsOf = (route: string) => route.split('/').filter((word) => !word.startsWith(':'))
  expect(routes.filter((route) => !wordsOf(route).every(isUsed))).toEqual([])
})
