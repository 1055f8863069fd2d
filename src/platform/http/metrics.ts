import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { equalInConstantTime } from '../../lib/crypto/hash.ts'
import { AppError, notFound } from '../../lib/errors.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { readToken } from './authenticate.ts'
import { hidden } from './replies/envelope.ts'
import { isLocal } from './request/client-address.ts'

/** Without a `token`, only requests from this machine are allowed. */
type MetricsDeps = { metrics: Pick<Metrics, 'render'>; token: string | null }

/** `/metrics`, for Prometheus. Without a token, other machines get 404. */
export function metricsRoute({ metrics, token }: MetricsDeps) {
  return new Elysia({ name: 'metrics' }).get(
    '/metrics',
    async ({ request, server, set }) => {
      if (token !== null) authorize(request, token)
      else if (!isLocal(request, server as Server<unknown> | null)) throw notFound()
      const { text, contentType } = await metrics.render()
      set.headers['content-type'] = contentType
      return text
    },
    hidden,
  )
}

function authorize({ headers }: Request, token: string) {
  if (equalInConstantTime(readToken(headers.get('authorization')) ?? '', token)) return
  throw new AppError('unauthenticated', 'The metrics token is missing or wrong.', {
    denial: { reason: headers.has('authorization') ? 'wrong_token' : 'missing' },
  })
}
