import { Elysia } from 'elysia'

export type Part = 'ok' | 'failing' | 'stale' | 'off'
/** What `/ready` tells. Only `database` and `storage` decide over the status. */
export type Readiness = {
  database: Part
  storage: Part
  imageWorker: Part
  rates: Part
  certificate: Part
  /** Whether `BACKUP_SCHEDULE` is kept; off without one. */
  backup: Part
  /** The name of an instance of several. */
  instance?: string
}

/** `/health`: the process lives. `/ready`: it can serve. */
export function health(readiness: () => Promise<Readiness>) {
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
        return parts
      },
      { detail: { hide: true } },
    )
}
