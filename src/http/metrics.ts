import { Elysia } from 'elysia'
import { equalInConstantTime } from '../lib/crypto.ts'
import { AppError } from '../lib/errors.ts'
import type { Metrics } from '../lib/metrics.ts'
import { tokenIn } from './authenticate.ts'
import { notFound } from './errors.ts'

/** `token`: who has it may read; null means that only this machine may. */
type MetricsDeps = { metrics: Pick<Metrics, 'render'>; token: string | null }

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/

/** `/metrics`, for Prometheus. To everybody else it is not there. */
export function metricsRoute({ metrics, token }: MetricsDeps) {
  return new Elysia({ name: 'metrics' }).get(
    '/metrics',
    async ({ request, server, set }) => {
      if (token !== null) authorize(request, token)
      else if (!isLocal(request, server?.requestIP(request)?.address)) throw notFound()
      const { text, contentType } = await metrics.render()
      set.headers['content-type'] = contentType
      return text
    },
    { detail: { hide: true } },
  )
}

function authorize({ headers }: Request, token: string) {
  if (equalInConstantTime(tokenIn(headers.get('authorization')) ?? '', token)) return
  throw new AppError('unauthenticated', 'The metrics token is missing or wrong.')
}

/** What a proxy on this machine passes on comes from elsewhere. */
function isLocal({ headers }: Request, address = ''): boolean {
  const isForwarded = ['forwarded', 'x-forwarded-for', 'via'].some((name) => headers.has(name))
  return LOOPBACK.test(address) && !isForwarded
}
