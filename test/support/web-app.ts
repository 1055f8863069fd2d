import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle } from './browser.ts'

/** A web app on another origin than the server, which uses passkeys. */
export async function startWebApp(apiUrl: () => string) {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-passkeys-'))
  const [client, passkeys] = ['client', 'browser-passkeys'].map((name) =>
    join(import.meta.dir, `../../src/client/${name}.ts`),
  )
  await Bun.write(
    join(folder, 'main.js'),
    `import { createClient } from ${JSON.stringify(client)}
import { addPasskey, signInWithPasskey } from ${JSON.stringify(passkeys)}
const api = createClient({ baseUrl: API_URL, storage: localStorage })
Object.assign(globalThis, { api, addPasskey, signInWithPasskey })`,
  )
  const script = await bundle(join(folder, 'main.js'))
  const server = Bun.serve({
    port: 0,
    fetch: ({ url }) =>
      url.endsWith('.js')
        ? new Response(`const API_URL = '${apiUrl()}'\n${script}`, {
            headers: { 'content-type': 'text/javascript' },
          })
        : new Response(
            '<!doctype html><title>x</title><input autocomplete="username webauthn"><script type="module" src="/main.js"></script>',
            { headers: { 'content-type': 'text/html' } },
          ),
  })
  return {
    url: `http://localhost:${server.port}`,
    async [Symbol.asyncDispose]() {
      await server.stop(true)
      await rm(folder, { recursive: true })
    },
  }
}
