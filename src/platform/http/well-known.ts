import { Elysia } from 'elysia'

/** The files under `/.well-known` that phones and browsers read; any others get 404. */
export function wellKnown(files: Record<string, object>) {
  const app = new Elysia({ name: 'well-known' })
  for (const [path, content] of Object.entries(files)) {
    const headers = { 'content-type': 'application/json', 'cache-control': 'public, max-age=3600' }
    app.get(path, () => Response.json(content, { headers }))
  }
  return app
}
