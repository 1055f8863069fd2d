import type { Measurements } from './measurements.ts'

/** A condition that operators should know about. It fires while the value is above (or `isMinimum`: below) the threshold. */
export type Rule = {
  name: string
  /** What is wrong, as the subject of an e-mail. */
  title: string
  /** What to do. */
  advice: string
  /** `page`: act at once. */
  severity: 'page' | 'warn'
  /** How long the condition must hold, in minutes. */
  minutes: number
  threshold: number
  /** The unit of the value and the threshold; empty for a state. */
  unit: string
  isMinimum?: boolean
  /** The value; null where it does not apply. */
  read: (measurements: Measurements, now: Date) => Promise<number | null>
}

/** More refused deliveries than this in two hours are a problem, even if others are accepted. */
const MANY_REFUSED = 100
const ACCEPTED = /^(ok|duplicate|ignored)$/

/** The deliveries refused in two hours; 0 if one has been accepted since, because any stranger can send some. */
export async function refusedDeliveries(m: Measurements, name: string, code: RegExp) {
  const refused = await m.increase(name, 120, { code })
  const acceptedAt = await m.lastIncrease(name, { code: ACCEPTED })
  const isOver = acceptedAt > 0 && acceptedAt >= (await m.lastIncrease(name, { code }))
  return isOver && refused <= MANY_REFUSED ? 0 : refused
}

/** In another unit; null stays null. */
export async function scaled(value: Promise<number | null>, unit: number): Promise<number | null> {
  const known = await value
  return known === null ? null : known / unit
}

/** Seconds in hours. */
export function hours(seconds: Promise<number | null>): Promise<number | null> {
  return scaled(seconds, 3_600)
}
