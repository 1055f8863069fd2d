import type { Labels, Measurements } from './measurements.ts'

/** Measures a value in this process and in Prometheus. `promql` appends a comparison, such as `> 5`. */
export type Measure = {
  /** Null if it does not apply. */
  read: (measurements: Measurements, now: Date) => Promise<number | null>
  promql: (comparison: string) => string
}

/** More refused deliveries than this in two hours are a problem, even if others are accepted. */
const MANY_REFUSED = 100
const ACCEPTED: Labels = { code: 'ok|duplicate|ignored' }

/** The highest current value of a metric, in units of `per`. */
export function highest(name: string, { labels = {}, per = 1 }: MetricOptions = {}): Measure {
  const read = (m: Measurements) => divide(m.highest(name, labels), per)
  return { read, promql: (comparison) => `${scale(series(name, labels), per)} ${comparison}` }
}

/** The lowest current value of a metric, in units of `per`. */
export function lowest(name: string, { labels = {}, per = 1 }: MetricOptions = {}): Measure {
  const { promql } = highest(name, { labels, per })
  return { read: (m) => divide(m.lowest(name, labels), per), promql }
}

/** Like `highest`, but Prometheus also reports it while there is no value. */
export function highestOrMissing(name: string, options: MetricOptions): Measure {
  const { read, promql } = highest(name, options)
  return { read, promql: (comparison) => `${promql(comparison)} or absent(${name})` }
}

/** The absolute value of the highest current value. */
export function farthest(name: string): Measure {
  return {
    read: async (m) => {
      const value = await m.highest(name)
      return value === null ? null : Math.abs(value)
    },
    promql: (comparison) => `abs(${name}) ${comparison}`,
  }
}

/** The days until a time, in seconds since 1970. */
export function daysUntil(name: string): Measure {
  return {
    read: async (m, now) => {
      const seconds = await m.lowest(name)
      return seconds === null ? null : (seconds - now.getTime() / 1000) / 86_400
    },
    promql: (comparison) => `(${name} - time()) / 86400 ${comparison}`,
  }
}

/** How much a counter has grown in the last `minutes`. */
export function growth(name: string, minutes: number, labels: Labels): Measure {
  return {
    read: (m) => m.increase(name, minutes, labels),
    promql: (comparison) => `${increase(name, minutes, labels)} ${comparison}`,
  }
}

/** The share of a counter's growth that has `labels`, in percent; null if it has not grown. */
export function share(name: string, minutes: number, labels: Labels): Measure {
  return {
    read: async (m) => {
      const total = await m.increase(name, minutes)
      const part = await m.increase(name, minutes, labels)
      return total === 0 ? null : (part / total) * 100
    },
    promql: (comparison) =>
      `100 * ${increase(name, minutes, labels)} / ${increase(name, minutes)} ${comparison}`,
  }
}

/** The percentage of a histogram's durations over `seconds`, which is one of its limits; null without durations. */
export function shareOver(
  name: string,
  seconds: number,
  minutes: number,
  labels: Labels = {},
): Measure {
  const isFast = { ...labels, le: String(seconds) }
  return {
    read: async (m) => {
      const total = await m.increase(name, minutes, labels, 'count')
      const fast = await m.increase(name, minutes, isFast, 'bucket')
      return total === 0 ? null : ((total - fast) / total) * 100
    },
    promql: (comparison) => {
      const fast = increase(`${name}_bucket`, minutes, isFast)
      return `100 - 100 * ${fast} / ${increase(`${name}_count`, minutes, labels)} ${comparison}`
    },
  }
}

/** The growth with `labels`; 0 if there was any growth with `others`. */
export function growthWithout(
  name: string,
  minutes: number,
  labels: Labels,
  others: Labels,
): Measure {
  return {
    read: async (m) => {
      const without = await m.increase(name, minutes, labels)
      return (await m.increase(name, minutes, others)) > 0 ? 0 : without
    },
    promql: (comparison) => {
      const noOthers = `${increase(name, minutes, others)} == 0`
      return `${increase(name, minutes, labels)} ${comparison} and ${noOthers}`
    },
  }
}

/** Refused deliveries in two hours, with retries; 0 if one was accepted since, because strangers can cause a few. */
export function refusedDeliveries(name: string, code: string): Measure {
  return {
    read: async (m) => {
      const refused = await m.increase(name, 120, { code })
      const acceptedAt = await m.lastIncrease(name, ACCEPTED)
      const isOver = acceptedAt > 0 && acceptedAt >= (await m.lastIncrease(name, { code }))
      return isOver && refused <= MANY_REFUSED ? 0 : refused
    },
    promql: (comparison) => {
      const refused = increase(name, 120, { code })
      const accepted = increase(name, 30, ACCEPTED)
      const unaccepted = `${refused} ${comparison} unless on () ${accepted} > 0`
      return `(${unaccepted}) or ${refused} > ${MANY_REFUSED}`
    },
  }
}

type MetricOptions = { labels?: Labels; per?: number }

function scale(value: string, per: number): string {
  return per === 1 ? value : `${value} / ${per}`
}

async function divide(value: Promise<number | null>, per: number): Promise<number | null> {
  const known = await value
  return known === null ? null : known / per
}

function increase(name: string, minutes: number, labels: Labels = {}): string {
  return `sum(increase(${series(name, labels)}[${minutes}m]))`
}

function series(name: string, labels: Labels): string {
  const matchers = Object.entries(labels).map(([label, values]) =>
    values.startsWith('!') ? `${label}!~"${values.slice(1)}"` : `${label}=~"${values}"`,
  )
  return matchers.length === 0 ? name : `${name}{${matchers.join(',')}}`
}
