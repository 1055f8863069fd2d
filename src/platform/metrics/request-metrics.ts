import { counter, type Metric, type MetricList, type MetricValue } from './metrics.ts'
import { LIMITS, type Registry, type RequestSeries, startAtZero } from './registry.ts'

export const requestMetrics: MetricList<{ registry: Registry }> = {
  homeport_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Time from the request to its response, not counting the upload of a JSON body; by method, route pattern, status and code of the response',
    read: ({ registry }) => registry.requests().flatMap(toValues),
  },
  homeport_http_replies_total: counter(
    'Responses, by status class such as 2xx',
    ({ registry }) => countReplies(registry),
    'class',
  ),
  homeport_denials_total: counter(
    'Requests answered with 401, by reason',
    ({ registry }) => registry.denials(),
    'reason',
  ),
}

function toValues({ labels, count, sum, buckets }: RequestSeries): MetricValue[] {
  let total = 0
  const cumulative = [...LIMITS, '+Inf'].map((le, at) => {
    total += buckets[at] ?? 0
    return { part: 'bucket', labels: { le, ...labels }, value: total }
  })
  return [
    ...cumulative,
    { part: 'sum', labels, value: sum },
    { part: 'count', labels, value: count },
  ]
}

function countReplies({ requests }: Registry): Record<string, number> {
  const counts: Record<string, number> = startAtZero(['1xx', '2xx', '3xx', '4xx', '5xx'])
  for (const { labels, count } of requests()) {
    // A stranger's request to a webhook that is not set up is not a server error.
    const isUnused = labels.code === 'webhook_not_configured'
    const group = isUnused ? '4xx' : `${Math.floor(labels.status / 100)}xx`
    counts[group] = (counts[group] ?? 0) + count
  }
  return counts
}

/** A counter of the requests to the webhook at `route` by response code; `stray` are those that were not deliveries. */
export function countDeliveries(
  help: string,
  route: string,
  codes: readonly string[],
): Metric<{ registry: Registry }> {
  const read = ({ registry }: { registry: Registry }) => {
    const counts: Record<string, number> = startAtZero([...codes, 'stray'])
    for (const { labels, count, strays } of registry.requests()) {
      if (labels.route !== route) continue
      counts['stray'] = (counts['stray'] ?? 0) + strays
      if (count > strays) counts[labels.code] = (counts[labels.code] ?? 0) + count - strays
    }
    return counts
  }
  return counter(help, read, 'code')
}
