import { Elysia } from 'elysia'

/** The files under `/.well-known` that phones and browsers read; any others get 404. */
export function wellKnown(files: Record<string, object>) {
  const app = new Elysia({ name: 'well-known' })
  for (const [path, content] of Object.entries(files)) {
    app.get(path, ({ set }) => {
      set.headers['cache-control'] = 'public, max-age=3600'
      return Response.json(content)
    })
  }
  return app
}
