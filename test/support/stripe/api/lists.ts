import { invalid, missing } from './errors.ts'
import { type Params, textAt } from './form.ts'

/** The parameters of every list. */
export const PAGE_PARAMS = ['limit', 'starting_after', 'ending_before']

/** A page of `all`, which are ordered from the oldest to the newest; Stripe lists the newest first. */
export function pageOf<T extends { id: string }>(
  all: T[],
  params: Params,
  url: string,
  kind: string,
) {
  const limit = limitOf(params)
  const newest = all.toReversed()
  const after = textAt(params, 'starting_after')
  const before = textAt(params, 'ending_before')
  if (before !== undefined) {
    const end = placeOf(before, 'ending_before')
    const data = newest.slice(Math.max(0, end - limit), end)
    return { object: 'list', url, has_more: end > limit, data }
  }
  const start = after === undefined ? 0 : placeOf(after, 'starting_after') + 1
  const data = newest.slice(start, start + limit)
  return { object: 'list', url, has_more: newest.length > start + limit, data }

  function placeOf(id: string, param: string): number {
    const place = newest.findIndex((one) => one.id === id)
    if (place < 0) throw missing(kind, id, { param, status: 400 })
    return place
  }
}

function limitOf(params: Params): number {
  const limit = textAt(params, 'limit') ?? '10'
  if (!/^\d+$/.test(limit))
    throw invalid(`Invalid integer: ${limit}`, 'limit', 'parameter_invalid_integer')
  if (Number(limit) < 1 || Number(limit) > 100) {
    throw invalid('This value must be between 1 and 100.', 'limit')
  }
  return Number(limit)
}

/** The parameters of a range of times. */
export function rangeParams(name: string): string[] {
  return [name, ...['gt', 'gte', 'lt', 'lte'].map((bound) => `${name}.${bound}`)]
}

/** Whether a time (in seconds) is within the range that is asked for. */
export function isInRange(time: number, params: Params, name: string): boolean {
  const exact = textAt(params, name)
  const bound = (which: string) => textAt(params, `${name}.${which}`)
  const [gt, gte, lt, lte] = [bound('gt'), bound('gte'), bound('lt'), bound('lte')]
  return (
    (exact === undefined || time === Number(exact)) &&
    (gt === undefined || time > Number(gt)) &&
    (gte === undefined || time >= Number(gte)) &&
    (lt === undefined || time < Number(lt)) &&
    (lte === undefined || time <= Number(lte))
  )
}
