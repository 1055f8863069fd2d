import { expect, test } from 'bun:test'
import { isAsync } from 'elysia/compose'
import { MINIFY } from '../../scripts/build.ts'
import { createTestApp } from '../support/app.ts'

type Hook = (...args: never) => unknown

const KINDS = ['transform', 'beforeHandle', 'afterHandle', 'afterResponse'] as const

/** These check credentials, claim a sealed message, or come from the plugin that only webhooks use. */
const AWAITED = ['check', 'claim', 'deriveBearer']

/**
 * Elysia awaits a hook that is an `async` function or whose source looks as if it returned a promise, and then every
 * request pays for it. In minified source, `=>{f(` and `return f(` look like that.
 */
test('Elysia awaits no hook that has nothing to wait for', async () => {
  await using app = await createTestApp()
  const { event, routes } = app.app
  const ofRoutes = routes.flatMap(({ hooks }) => KINDS.flatMap((kind) => hooks[kind] ?? []))
  const hooks = new Set<Hook>([...(event.request ?? []), ...ofRoutes].map(({ fn }) => fn))
  const minified = await minify([...hooks])
  const awaited = [...hooks].filter((_, at) => isAsync(minified[at] as Hook))
  expect([...new Set(awaited.map((hook) => hook.name || `${hook}`))].toSorted()).toEqual(AWAITED)
})

/** The functions as the executable contains them. They cannot be called. */
async function minify(functions: Hook[]): Promise<Hook[]> {
  const files = { 'hooks.js': `globalThis.hooks = [${functions.join()}]` }
  const { outputs } = await Bun.build({ entrypoints: ['hooks.js'], files, minify: MINIFY })
  const source = await outputs[0]?.text()
  return new Function(`const globalThis = {}; ${source}; return globalThis.hooks`)()
}
