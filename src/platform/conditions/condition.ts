import type { Measure } from './measure.ts'

/** Something that operators should know about while it holds. Its names are also those of the alerts of Prometheus. */
export type Condition = {
  name: string
  /** What is wrong, as the subject of an e-mail. */
  title: string
  /** What to do. */
  advice: string
  /** `page`: act at once. */
  severity: 'page' | 'warn'
  /** How long it must hold before it is reported. */
  minutes: number
  measure: Measure
  /** It holds while the measured value is beyond this; operators may set another limit. */
  limit: { above: number } | { below: number }
  /** The unit of the value and the limit; empty for a state. */
  unit: string
}

/** The default limit. */
export function findLimit({ limit }: Condition): number {
  return 'above' in limit ? limit.above : limit.below
}

/** Whether a condition holds with a value: null where it does not apply. */
export function holdsWith({ limit }: Condition, value: number | null, limitNow: number): boolean {
  return value !== null && ('above' in limit ? value > limitNow : value < limitNow)
}
