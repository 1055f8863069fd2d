import type { Measure } from './measure.ts'

export type Condition = {
  /** The subject of an e-mail. */
  title: string
  advice: string
  /** `page`: act immediately. */
  severity: 'page' | 'warn'
  /** How long it must hold before it is reported; 0 by default. */
  minutes?: number
  measure: Measure
  /** It holds while the measured value is beyond this; operators may set another limit. A state has no unit. */
  limit: ({ above: number } | { below: number }) & { unit?: string }
}

/** Conditions by name, which is also the name of the Prometheus alert. */
export type ConditionList = Record<string, Condition>

export function findLimit({ limit }: Condition): number {
  return 'above' in limit ? limit.above : limit.below
}
