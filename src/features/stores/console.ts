import { Elysia } from 'elysia'
import { disableIdleTimeout } from '../../platform/http/body/connection-time.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { data } from '../../platform/http/replies/envelope.ts'
import type { Stores } from './stores.ts'

/** Console routes for the state of the stores. */
export function storeConsole({ stores: { status } }: { stores: Stores }) {
  return new Elysia({ name: 'store-console', prefix: `${CONSOLE_API}/stores` })
    .get('', async () => data(await status.read()), allow('reader'))
    .get(
      '/check',
      async ({ request, server }) => {
        disableIdleTimeout(request, server)
        return data(await status.check())
      },
      allow('reader'),
    )
}
