import { Elysia } from 'elysia'
import { hidden } from './replies/envelope.ts'

export type ComponentState = 'ok' | 'failing' | 'stale' | 'off'
export type Readiness = {
  database: ComponentState
  storage: ComponentState
  /** Whether the object store belongs to this server alone; off without `FILES_URL`. */
  store: ComponentState
  imageWorker: ComponentState
  rates: ComponentState
  certificate: ComponentState
  /** Whether scheduled backups are written; off without `BACKUP_SCHEDULE`. */
  backup: ComponentState
  /** The instance's name, when there are several. */
  instance?: string
}

/** Depends only on the components without which nothing can be stored. */
export function isReady({ database, storage }: Readiness): boolean {
  return database === 'ok' && storage === 'ok'
}

/** `/health` reports that the process is alive, `/ready` whether it can serve requests. */
export function health(readiness: () => Promise<Readiness>) {
  return new Elysia({ name: 'health' })
    .get('/health', () => ({ status: 'ok' }), hidden)
    .get(
      '/ready',
      async ({ set }) => {
        const components = await readiness()
        if (!isReady(components)) {
          set.status = 503
          set.headers['retry-after'] = '5'
        }
        return components
      },
      hidden,
    )
}
