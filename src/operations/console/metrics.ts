import { Elysia, t } from 'elysia'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/replies/envelope.ts'
import type { Slowest } from '../../platform/metrics/slowest.ts'
import type { Recorder } from '../../platform/metrics/snapshots.ts'
import { filterByKind, groupByEndpoint, isCalledByApps, isConsole } from '../endpoints.ts'
import type { Monitored } from '../monitored.ts'

type MetricsConsoleDeps = Pick<Monitored, 'webhooks'> & {
  recorder: Pick<Recorder, 'charts' | 'tallies'>
  slowest: Slowest
}

const MAX_HOURS = 720
/** With fewer requests, the slowest of them says little about its endpoint. */
const MIN_REQUESTS = 10
const Hours = t.Optional(t.Numeric({ minimum: 1, maximum: MAX_HOURS }))
const On = t.Optional(t.Literal('on'))
const EndpointsQuery = closedObject({ hours: Hours })
const SlowestQuery = closedObject({ console: On })
const TrafficQuery = closedObject({ hours: Hours, day: On, week: On })
const EndpointQuery = closedObject({
  name: t.String({ maxLength: 200 }),
  hours: Hours,
  day: On,
  week: On,
})

export function metricsConsole(deps: MetricsConsoleDeps) {
  const { charts } = deps.recorder
  return new Elysia({ name: 'metrics-console', prefix: CONSOLE_API })
    .get(
      '/metrics',
      async ({ query }) => {
        const period = toPeriod(query)
        const { traffic, starts } = charts
        return data({ steps: await traffic(period), starts: await starts(period.hours) })
      },
      { query: TrafficQuery, ...allow('reader') },
    )
    .get('/metrics/endpoints', async ({ query }) => data(await summarize(deps, query.hours ?? 1)), {
      query: EndpointsQuery,
      ...allow('reader'),
    })
    .get(
      '/metrics/endpoint',
      async ({ query }) => data(await charts.endpoint(query.name, toPeriod(query))),
      { query: EndpointQuery, ...allow('reader') },
    )
    .get('/metrics/slowest', ({ query }) => data(listSlowest(deps, query.console === 'on')), {
      query: SlowestQuery,
      ...allow('reader'),
    })
}

export type MetricsSummary = Awaited<ReturnType<typeof summarize>>

/** Summarizes figures by endpoint, webhook endpoint and billing provider. */
async function summarize({ recorder, webhooks }: MetricsConsoleDeps, hours: number) {
  const { since, figures } = await recorder.tallies.list(hours)
  const endpoints = groupByEndpoint(figures)
  const attempts = new Map(filterByKind(figures, 'webhook').map((one) => [one.name, one]))
  const outgoing = ((await webhooks?.health.countWaiting()) ?? []).map(({ id, url, waiting }) => {
    const { count = 0, soft = 0, hard = 0, p50 = 0, p99 = 0 } = attempts.get(id) ?? {}
    const delivered = count - soft - hard
    return { id, url, waiting, delivered, retried: soft, failed: hard, p50, p99 }
  })
  const incoming = filterByKind(figures, 'billing').map(
    ({ name, count, soft, hard, ...delays }) => {
      return { provider: name, received: count, conflicting: soft, failed: hard, ...delays }
    },
  )
  const slowest = endpoints.find((one) => isCalledByApps(one) && one.count >= MIN_REQUESTS) ?? null
  return { since, slowest, minRequests: MIN_REQUESTS, endpoints, outgoing, incoming }
}

export type SlowRequests = ReturnType<typeof listSlowest>

function listSlowest({ slowest }: MetricsConsoleDeps, includesConsole: boolean) {
  return slowest
    .list(({ name }) => includesConsole || !isConsole(name))
    .map(({ at, ...request }) => ({ ...request, at: new Date(at).toISOString() }))
}

function toPeriod({ hours = 1, day, week }: { hours?: number; day?: 'on'; week?: 'on' }) {
  const earlier = [day && ('day' as const), week && ('week' as const)].filter(
    (one) => one !== undefined,
  )
  return { hours, earlier }
}
