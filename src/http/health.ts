import { Elysia } from 'elysia'

export type Part = 'ok' | 'failing' | 'stale' | 'off'
/** What `/ready` tells. Only `database` and `storage` decide over the status. */
export type Readiness = {
  database: Part
  storage: Part
  imageWorker: Part
  rates: Part
  certificate: Part
}

/** `/health`: the process lives. `/ready`: it can serve. It tells the name of an instance of several. */
export function health(readiness: () => Promise<Readiness>, instance: string | null) {
  return new Elysia({ name: 'health' })
    .get('/health', () => ({ status: 'ok' }), { detail: { hide: true } })
    .get(
      '/ready',
      async ({ set }) => {
        const parts = await readiness()
        if (parts.database !== 'ok' || parts.storage !== 'ok') {
          set.status = 503
          set.headers['retry-after'] = '5'
        }
        return instance === null ? parts : { ...parts, instance }
      },
      { detail: { hide: true } },
    )
}
