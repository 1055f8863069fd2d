import { Elysia } from 'elysia'
import { allow, CONSOLE_API, type RecordAction } from '../../platform/http/console-guard.ts'
import { data } from '../../platform/http/envelope.ts'
import type { Rates } from './service.ts'

const REFRESH_TIMEOUT_MS = 30_000

/** Shows and refreshes the currency rates. */
export function ratesAdmin({ rates, record }: { rates: Rates; record: RecordAction }) {
  return new Elysia({ name: 'rates-admin', prefix: `${CONSOLE_API}/rates` })
    .get(
      '',
      async () => data({ ...(await rates.read()), ...(await rates.describeFeed()) }),
      allow('reader'),
    )
    .post(
      '/refresh',
      async ({ request }) => {
        const outcome = await rates.refresh(AbortSignal.timeout(REFRESH_TIMEOUT_MS))
        await record(request, { action: 'rates.refresh', after: outcome })
        return data(outcome)
      },
      allow('operator'),
    )
}
