import { LOCALE, number } from '../../format.ts'
import { go, linkTo, query, withQuery } from '../../router.ts'
import { Checkbox } from '../../ui/fields.tsx'
import type { ChartKind } from './chart.tsx'

const SHORT = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: 3 })
const RATE = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 1 })

/** `12.5 ms`, `340 ms`, `12 s`. */
export function milliseconds(ms: number): string {
  return ms < 1000 ? `${SHORT.format(ms)} ms` : seconds(ms / 1000)
}

export const RESPONSE_TIME: ChartKind<{ p50: number | null; p99: number | null }> = {
  title: 'Response time',
  series: [
    { name: 'p50', label: 'p50', tone: 'accent', spansGaps: true },
    { name: 'p99', label: 'p99', tone: 'second', spansGaps: true, isWide: true },
  ],
  format: milliseconds,
}

/** `0.033`, `12.5`, `1,240`. */
export function rate(perMinute: number): string {
  return perMinute < 100 ? SHORT.format(perMinute) : number(Math.round(perMinute))
}

/** The value of the server's last bucket of durations, which has no upper bound. */
const LAST_BUCKET_S = 1_410_790
const BUCKET_GROWTH = 2 ** 0.25

/** `40 s`, `3.2 min`, `5 h`, `2.1 days`, or `more than 13.7 days`. */
export function seconds(value: number): string {
  if (value >= LAST_BUCKET_S) return `more than ${seconds(value / BUCKET_GROWTH)}`
  const units: [length: number, name: string][] = [
    [86_400, 'days'],
    [3_600, 'h'],
    [60, 'min'],
  ]
  const [length, name] = units.find(([unit]) => value >= unit) ?? [1, 's']
  return `${SHORT.format(value / length)} ${name}`
}

/** `0.4% (3)`, or `0` for none. */
export function formatShare(count: number, total: number): string {
  return count === 0 ? '0' : `${RATE.format(count / total)} (${number(count)})`
}

export function endpointName(name: string): string {
  return name === 'none' ? 'Unknown paths' : name
}

/** A link to the figures and the chart of an endpoint. */
export function EndpointLink({ name }: { name: string }) {
  const filter = Object.fromEntries(query.value)
  return (
    <a href={linkTo('metrics/endpoints', { ...filter, endpoint: name })}>{endpointName(name)}</a>
  )
}

/** Whether the console's requests are listed too: `console=on` in the URL. */
export function ConsoleChoice() {
  return (
    <Checkbox
      label="Include console requests"
      checked={query.value.get('console') === 'on'}
      onChange={(isOn) => go(withQuery({ console: isOn ? 'on' : '' }))}
    />
  )
}
